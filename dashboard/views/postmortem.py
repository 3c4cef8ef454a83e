"""The story of a run, written from its records: what changed when, what it cost, who said what.

Every sentence names the batch and the record it comes from. Two things that follow each other are
said to follow each other: only what the record itself names as a reason is called one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.components.formats import duration, show, stamp
from dashboard.components.names import named
from dashboard.views.decisions import LEVELS, followed
from dashboard.views.gaps import Gap, gaps_of
from dashboard.views.saved import changed
from storage.tables.rows import DecisionEntry, StoredEvent
from storage.vocabulary.records import Batch, Command, Run

#: What comes so many batches after another thing is told beside it.
NEAR_BATCHES: Final = 5
#: Fewer sampled tuples give no number.
FEWEST: Final = 30
#: What may be followed by something, and what may follow.
_TRIGGERS: Final = ("knob", "query", "input", "loop", "change")
_FOLLOWERS: Final = ("rearrangement", "misfit", "missed")
_STATES: Final = {"ended": "has ended", "interrupted": "was interrupted", "failed": "has failed"}
_PATHS: Final[Mapping[str, str]] = {
    "rearrangement": "/decisions",
    "held back": "/decisions",
    "knob": "/knobs",
    "algorithm": "/knobs",
    "exactness": "/results",
    "query": "/results",
    "end": "/monitor",
    "input": "/results",
    "misfit": "/results",
    "missed": "/plan",
}


class Sentence(NamedTuple):
    """One thing that happened. kind: of the event, or note. link: (path, node, unit) of its record.

    aside: what came shortly before, in words that claim no cause, or ''.
    """

    batch: int
    time: float
    kind: str
    text: str
    aside: str = ""
    link: tuple[str, str, str] = ("/timeline", "", "")
    tone: str = ""


class OpeningLine(NamedTuple):
    """A sentence about the run as a whole. path: of the page with its records."""

    text: str
    path: str


class Story(NamedTuple):
    """opening: the run as a whole. sentences: oldest first."""

    opening: list[OpeningLine]
    sentences: list[Sentence]


def tell(
    run: Run,
    ends: tuple[Batch, Batch] | None,
    events: Sequence[StoredEvent],
    decisions: Iterable[DecisionEntry],
    notes: Iterable[Command],
    saved: str,
    totals: Mapping[str, float | None],
    whole: Mapping[int, str] | None = None,
) -> Story:
    """The story. ends: first and last batch. events: titled, oldest first. saved: what adapting
    came to and what that is known from, or ''. totals: of the engine. whole: first batch after a
    gap -> what was lost in it."""
    outcomes = {
        (decision.decision.unit_id, decision.decision.seq): decision for decision in decisions
    }
    sentences = [_of_event(event, outcomes) for event in events if event.event.kind != "held back"]
    sentences = [sentence._replace(aside=_aside(sentence, sentences)) for sentence in sentences]
    held = Counter(event.event.title for event in events if event.event.kind == "held back")
    gaps = [_of_gap(gap, (whole or {}).get(gap.batch, "")) for gap in gaps_of(events)]
    remarks = [_of_note(note) for note in notes]
    ordered = sorted(
        [*sentences, *gaps, *remarks], key=lambda sentence: (sentence.batch, sentence.time)
    )
    return Story(_opening(run, ends, sentences, held, saved, totals), ordered)


def _results(totals: Mapping[str, float | None]) -> str:
    """What queries answered; tuples that matched where some select any."""
    matched = totals.get("matched_total")
    if matched is None:
        return f"{show(totals.get('answered_total'), 'int')} results"
    return f"{show(matched, 'int')} matched"


def _opening(
    run: Run,
    ends: tuple[Batch, Batch] | None,
    sentences: Sequence[Sentence],
    held: Mapping[str, int],
    saved: str,
    totals: Mapping[str, float | None],
) -> list[OpeningLine]:
    if ends is None:
        return [OpeningLine(f"Run {run.id} of {run.workload} recorded no batch.", "/")]
    first, last = ends
    lasted = duration(max(0.0, last.time - run.started_at))
    state = _STATES.get(run.state, f"is {run.state}")
    whole = (
        f"Run {run.id} of {run.workload} began at {stamp(run.started_at)} UTC and {state}"
        f"{f' ({run.note})' if run.note else ''}: batches {first.id} to {last.id} in {lasted}, "
        f"{show(totals.get('tuples_total'), 'int')} tuples, "
        f"{_results(totals)}."
    )
    n = {
        kind: sum(sentence.kind == kind for sentence in sentences)
        for kind in ("rearrangement", "knob", "query")
    }
    lines = [OpeningLine(whole, "/timeline")]
    lines.append(OpeningLine(_changes(n["rearrangement"], held), "/decisions"))
    lines.append(OpeningLine(_people(n["knob"], n["query"]), "/knobs"))
    if saved:
        text = f"Adapting {saved}."
        lines.append(OpeningLine(text, "/plan"))
    return lines


def _changes(n: int, held: Mapping[str, int]) -> str:
    """held: verdict of an evaluation that changed nothing -> how often."""
    parts = [f"The plan changed {_times(n)}" if n else "The plan never changed"]
    if held["kept"]:
        parts.append(f"another was built and was not better by enough {_times(held['kept'])}")
    if held["cooldown"]:
        parts.append(f"a change waited for the cool-down {_times(held['cooldown'])}")
    return f"{'; '.join(parts)}."


def _people(n_knobs: int, n_queries: int) -> str:
    if not n_knobs and not n_queries:
        return "Nobody turned a knob or changed a query."
    knobs = f"turned knobs {_times(n_knobs)}" if n_knobs else "turned no knob"
    queries = f"changed queries {_times(n_queries)}" if n_queries else "changed no query"
    return f"People {knobs} and {queries}."


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _of_event(stored: StoredEvent, outcomes: Mapping[tuple[str, int], DecisionEntry]) -> Sentence:
    event, ref = stored.event, stored.event.ref or {}
    seq = ref.get("decision")
    entry = outcomes.get((event.unit_id, seq)) if isinstance(seq, int) else None
    text = event.title if not event.detail else f"{event.title}: {named(event.detail)}"
    if entry is not None:
        title = f"{event.title}, in force from batch {max(0, stored.batch) + 1}"
        title = title if entry.decision.verdict == "switched" else event.title
        title = title[:1].upper() + title[1:]
        text = f"{title}; reason: {named(entry.decision.explanation)}{_cost(entry)}"
    return Sentence(
        max(0, stored.batch),
        stored.time,
        event.kind,
        f"{text}.",
        "",
        (_PATHS.get(event.kind, "/timeline"), "" if seq is None else str(seq), event.unit_id),
        "" if event.severity == "info" else event.severity,
    )


def _cost(entry: DecisionEntry) -> str:
    """What the switch brought, from the same sampled tuples under both plans."""
    outcome = entry.outcome
    if outcome is None or outcome.sample_new is None or outcome.counterfactual_old is None:
        return "; what it brought was not measured"
    if outcome.n_sample < FEWEST:
        return f"; not enough samples to say what it brought (n = {outcome.n_sample})"
    new, old = outcome.sample_new, outcome.counterfactual_old
    detail = entry.decision.detail or {}
    unit = str(detail.get("cost_unit", "visits per tuple")).replace("us ", "µs ")
    n, how = show(outcome.n_sample, "int"), followed(entry.decision)
    if unit in LEVELS:
        held, without = show(new, "bytes"), show(old, "bytes")
        return f"; {held} held since, {without} without it, over {n} {how.on}"
    effect, before, after = changed(old, new)
    basis = f"on {'the same ' * (how.alike == f'same {how.per}')}{n} {how.on}"
    if effect == "nothing":
        return f"; it brought nothing ({after} {unit}, as the plan before, {basis})"
    amount = show(abs(old - new), "f2") if abs(old - new) >= 0.01 else f"{abs(old - new):.1g}"
    return f"; it {effect} {amount} {unit} ({after} against {before} of the plan before, {basis})"


def _aside(sentence: Sentence, sentences: Sequence[Sentence]) -> str:
    """The last thing people or inputs did shortly before, without a claim."""
    if sentence.kind not in _FOLLOWERS:
        return ""
    before = [
        other
        for other in sentences
        if other.kind in _TRIGGERS and 0 <= sentence.batch - other.batch <= NEAR_BATCHES
    ]
    if not before:
        return ""
    last = max(before, key=lambda other: (other.batch, other.time))
    n = sentence.batch - last.batch
    when = "in the same batch as" if n == 0 else f"{n} batch{'' if n == 1 else 'es'} after"
    what = last.text.rstrip(".")
    return f"It came {when} “{what}”: a correlation, the record names no cause."


def _of_gap(gap: Gap, lost: str) -> Sentence:
    """lost: what was lost in it, or ''."""
    text = f"There was {gap.words}{f'; {lost}' if lost else ''}."
    return Sentence(gap.batch, gap.until, "gap", text)


def _of_note(note: Command) -> Sentence:
    body = note.payload.get("body", {})
    batch = body.get("batch") if isinstance(body, Mapping) else None
    at = batch if isinstance(batch, int) and not isinstance(batch, bool) else 0
    text = f"{note.actor} noted: {note.payload.get('name', '')}"
    return Sentence(at, note.requested_at, "note", text, "", ("/postmortem", str(note.id), ""))
