"""Ends of a run that nobody asked for: its engine was killed or failed.

They are events beside those on record, told from how the run stands and from the events by which it
went on.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.components.formats import duration, show
from storage.tables.rows import StoredEvent, StoredLine
from storage.vocabulary.branches import BRANCH, FILE
from storage.vocabulary.records import Event, Run

#: Kind of these events.
END: Final = "end"
#: State of a run whose engine ended unasked -> what is said of it.
_ENDINGS: Final[Mapping[str, str]] = {
    "interrupted": "The engine died",
    "failed": "The engine failed",
}
#: Of a run's settings: the master of a run in one process, whose state is in memory.
IN_MEMORY: Final = "none"


class Checkpoint(NamedTuple):
    """What a run would go on from. batch: the last one recorded, None before the first. kept_bytes:
    of what its units learnt; state_bytes: of the arrays of its operators; commit_ms: its last
    record took; start_s: its last start took, until its first batch was recorded. None = unknown.
    in_memory: it keeps its state nowhere else."""

    batch: int | None
    kept_bytes: float | None = None
    state_bytes: float | None = None
    commit_ms: float | None = None
    start_s: float | None = None
    in_memory: bool = False

    @property
    def is_lost(self) -> bool:
        """Nothing is left to go on from."""
        return self.in_memory and self.batch is not None

    @property
    def words(self) -> list[str]:
        """Sentences."""
        if self.is_lost:
            return ["It cannot go on: a run without Spark keeps its state in memory."]
        first = 0 if self.batch is None else self.batch + 1
        sentences = [f"It goes on at batch {show(first, 'int')}"]
        if self.batch is not None:
            sentences[0] += f"; batches up to {show(self.batch, 'int')} are on record"
        if self.commit_ms is not None:
            sentences.append(f"The last record took {show(self.commit_ms, 'f2')} ms")
        if sizes := self._sizes:
            sentences.append(f"The checkpoint takes {' and '.join(sizes)}")
        if self.start_s is not None:
            took = duration(self.start_s)
            sentences.append(f"Its last start took {took} until the first batch was recorded")
        return [f"{sentence}." for sentence in sentences]

    @property
    def _sizes(self) -> list[str]:
        """'12.0 MiB of state', '3.4 KiB that its units learnt'."""
        of = ((self.state_bytes, "of state"), (self.kept_bytes, "that its units learnt"))
        return [f"{show(size, 'bytes')} {what}" for size, what in of if size]


class Ending(NamedTuple):
    """How a run ended. lines: the last of its log. command: starts an engine that goes on with it,
    '' where none can; warning: what the command does not do, or ''."""

    title: str
    time: float
    lines: Sequence[StoredLine]
    checkpoint: Checkpoint
    command: str
    warning: str


def with_ends(run: Run, events: Sequence[StoredEvent], last: int | None) -> list[StoredEvent]:
    """The events with the ends among them. last: newest batch of the run, when it is on screen."""
    story: list[StoredEvent] = []
    for stored in events:
        ref: Mapping[str, Any] = stored.event.ref or {}
        if "since" in ref and ref.get("state") in _ENDINGS:
            before = _end(ref["state"], ref.get("note", ""))
            story.append(StoredEvent(stored.id, stored.batch, ref["since"], before))
        story.append(stored)
    if run.state in _ENDINGS and last is not None:
        id = events[-1].id + 1 if events else 1
        time = run.ended_at or run.heartbeat_at or run.started_at
        story.append(StoredEvent(id, last, time, _end(run.state, run.note)))
    return story


def _end(state: str, note: str) -> Event:
    return Event(END, _ENDINGS[state], note, "error")


def ending(
    run: Run, lines: Sequence[StoredLine], checkpoint: Checkpoint, store: str
) -> Ending | None:
    """How the run ended unasked; None where it did not. store: its file or address."""
    if run.state not in _ENDINGS:
        return None
    title = f"{_ENDINGS[run.state]}{f': {run.note}' if run.note else ''}."
    time = run.ended_at or run.heartbeat_at or run.started_at
    lost = "The command begins a new run." if checkpoint.is_lost else ""
    return Ending(title, time, lines, checkpoint, command(run, store), lost)


def command(run: Run, store: str) -> str:
    """Starts an engine that goes on with a run, from where Planwatch is; '' of a branch."""
    settings = run.settings
    if BRANCH in settings or FILE not in settings:
        return ""
    words = ["python3", "run.py", "backend", str(settings[FILE]), "--store", store]
    words += ["--master", str(settings["master"])] if "master" in settings else []
    runs, beside = str(settings.get("runs", "")), store.rpartition("/")[0]
    if runs and "://" not in store and runs != f"{beside}/runs":
        words += ["--shared", runs.removesuffix("/runs")]
    return shlex.join([*words, *(["--once"] if settings.get("once") else [])])


def harm_commands(run: Run, store: str) -> dict[str, str]:
    """What kills the engine of a run on this machine, while there is one, and what goes on with the
    run; none of a branch, and of a run that ended as it should."""
    resume, is_at_work = command(run, store), run.state == "running"
    if not resume or not (is_at_work or run.state in _ENDINGS):
        return {}
    return {**({"kill": f"kill -9 {run.pid}"} if is_at_work else {}), "resume": resume}


def lost_words(totals: Mapping[int, float | None], first: int, n_tuples: int | None) -> str:
    """What a gap came to. totals: batch -> tuples counted since the run began, of the last batch
    before it and of ``first``, the first one after it; n_tuples: of ``first``. '' where that is
    not known any more."""
    before, after = totals.get(first - 1), totals.get(first)
    if before is None or after is None or n_tuples is None:
        return ""
    off = round(after - before) - n_tuples
    lost, doubled = show(max(0, -off), "int"), show(max(0, off), "int")
    follows = f"batch {show(first, 'int')} follows batch {show(first - 1, 'int')}"
    return f"{follows}; {lost} tuples lost, {doubled} doubled"
