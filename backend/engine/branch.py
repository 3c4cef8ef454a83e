"""Branches of a recorded run: what is on record of it, and its turns taken again.

A branch replays the run from its first batch, cut into the same batches and with the turns of knobs
and queries at theirs; from one batch on a knob has another value. What is recorded decides: a turn
that the engine took back, or a value given when the run went on, is turned as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backend.cql.errors import listed
from backend.engine.job import RunJob
from backend.engine.knobs import ENGINE_KNOBS, INPUT_KNOBS, INTAKE, RATE
from backend.engine.loop import Loop
from backend.engine.settings import SEPARATOR
from backend.model.ids import source_id
from backend.model.knobs import KnobSpec
from backend.systems.contract import Refused
from storage.exchange.commands import CommandWriter
from storage.reader import Reader
from storage.vocabulary.branches import BranchOf, branch_of
from storage.vocabulary.records import Command, Decision, Event, Knob, Run

#: Kinds of commands that change what a run does; others pace it, or are about itself.
TURNS: Final = ("knob", "query_add", "query_pause", "query_resume", "query_remove")
#: Who asks for what is not on record as asked.
ENGINE_AS_RECORDED: Final = "engine"
#: In a run's settings: the master of one without Spark.
IN_PROCESS: Final = "none"
_ALL: Final = 10_000_000
_HOW_TUPLES_COME: Final = frozenset(spec.name for spec in (*ENGINE_KNOBS, *INPUT_KNOBS))


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run as the store has it. last: its newest batch. cuts: batch -> stream -> tuples it took,
    misfits among them. turns: batch -> commands applied there, oldest first. knobs: every value of
    every knob, oldest first. texts: the queries it began with, but for those that came or went
    before its first batch."""

    run: Run
    last: int
    cuts: Mapping[int, Mapping[str, int]]
    turns: Mapping[int, Sequence[Command]]
    knobs: Sequence[Knob]
    texts: Mapping[str, str]

    def first_values(self) -> dict[str, object]:
        """The knobs it began with, as a workload gives them: "scope/name" -> value."""
        began = [knob for knob in self.knobs if knob.batch <= 0 and not knob.version]
        return {f"{knob.scope}{SEPARATOR}{knob.name}": knob.value for knob in began}

    def in_force(self, batch: int) -> dict[tuple[str, str], Knob]:
        """(scope, name) -> the knob as it was at a batch."""
        return {(knob.scope, knob.name): knob for knob in self.knobs if knob.batch <= batch}

    def paused_at_a_rate(self) -> str | None:
        """A stream that was paused while it came at a rate, and read again: which tuples went by is
        not on record. None: there is none; in one process paused streams stand still."""
        if self.run.settings.get("master") == IN_PROCESS:
            return None
        rates = {knob.scope: 0.0 for knob in self.knobs}
        away: set[str] = set()
        for knob in sorted(self.knobs, key=lambda knob: (knob.batch, knob.version)):
            if knob.name == RATE.name:
                rates[knob.scope] = float(knob.value)
            if knob.name == INTAKE.name and knob.value == "on" and knob.scope in away:
                return knob.scope
            if knob.name == INTAKE.name and knob.value != "on" and rates[knob.scope] > 0:
                away.add(knob.scope)
        return None


def read_record(reader: Reader, run_id: str) -> RecordedRun:
    """What is on record of a run. Raises Refused when that does not do for a branch."""
    runs = {run.id: run for run in reader.runs()}
    newest = next((id for id, run in runs.items() if branch_of(run) is None), "")
    run_id = newest if run_id == "latest" else run_id
    run, last = runs.get(run_id), reader.last_batch(run_id)
    if run is None:
        known = listed(list(runs)[:5], "and") if runs else "it has none"
        raise Refused(f"no run is called {run_id!r} in this store; newest first: {known}")
    if last is None:
        raise Refused(f"run {run_id} has no batch yet: there is nothing to branch from")
    cuts: dict[int, dict[str, int]] = {}
    for input_batch in reader.input_batches(run_id, until=last, limit=_ALL):
        counts = input_batch.counts
        cuts.setdefault(input_batch.batch, {})[counts.input] = counts.n_tuples + counts.n_misfits
    missing = next((batch for batch in range(last + 1) if batch not in cuts), None)
    if missing is not None:
        raise Refused(f"what batch {missing} of run {run_id} took of its streams is not on record")
    turns: dict[int, list[Command]] = {}
    for command in reversed(reader.commands(run_id, _ALL)):
        if command.applied_batch is not None and command.kind in TURNS:
            turns.setdefault(command.applied_batch, []).append(command)
    came = {command.payload.get("name") for command in turns.get(0, ())}
    began = (entity for entity in reader.entities(run_id, 0) if entity.kind == "query")
    texts = {
        entity.name: str(entity.properties.get("text", ""))
        for entity in began
        if entity.name not in came
    }
    return RecordedRun(run, last, cuts, turns, reader.knob_history(run_id), texts)


def asked_branch(record: RecordedRun, at: int, name: str, text: object, unit: str) -> BranchOf:
    """The branch that is asked for. text: the value, as typed or as it is. unit: '' where one has
    such a knob. Raises Refused, KnobRefused."""
    run = record.run
    if not 0 <= at <= record.last:
        raise Refused(f"--at {at}: run {run.id} has the batches 0..{record.last}")
    knobs = record.in_force(at)
    if name in _HOW_TUPLES_COME:
        raise Refused(f"{name} says when tuples come, which a branch takes as recorded")
    named = [scope for scope, known in knobs if known == name]
    if not named:
        known = ", ".join(sorted({n for _, n in knobs} - _HOW_TUPLES_COME)) or "there is none"
        raise Refused(f"run {run.id} has no knob {name!r} at batch {at}; its knobs are {known}")
    if unit and unit not in named:
        raise Refused(f"--unit {unit}: a knob {name} have {', '.join(named)}")
    if not unit and len(named) > 1:
        raise Refused(f"say with --unit which {name} is meant: that of {', '.join(named)}")
    knob = knobs[unit or named[0], name]
    value = _spec(knob).check(text)
    return BranchOf(run.id, at, name, knob.scope, value, knob.value, record.last)


def _spec(knob: Knob) -> KnobSpec:
    return KnobSpec(
        name=knob.name,
        kind=knob.kind,  # type: ignore[arg-type]  # as it was declared
        default=knob.default,
        unit=knob.unit,
        help=knob.help,
        low=knob.low,
        high=knob.high,
        choices=tuple(knob.choices),
    )


def check_replayable(record: RecordedRun, job: RunJob) -> None:
    """Raises Refused for streams whose tuples are not known by their places, and for queries of
    the workload file that are others now."""
    paused = record.paused_at_a_rate()
    for name in job.inputs:
        if source_id(name) == paused:
            raise Refused(
                f"stream {name} cannot be replayed: it was paused while it came at a rate, and "
                "which tuples went by is not on record"
            )
    now = {query.name: query.text for query in job.queries}
    changed = {command.payload.get("name") for command in record.turns.get(0, ())}
    for name in sorted((now.keys() | record.texts.keys()) - changed):
        if now.get(name) != record.texts.get(name):
            what = "is gone from" if name not in now else "is new in"
            what = what if name not in record.texts or name not in now else "reads otherwise in"
            raise Refused(f"the workload has changed: query {name} {what} its file")


class TurnsAgain:
    """Has a branch's loop take the recorded turns at their batches, and its own at its batch.

    They are commands of the branch, so that its store says of each what came of it.
    """

    def __init__(
        self, record: RecordedRun, branch: BranchOf, loop: Loop, commands: CommandWriter
    ) -> None:
        self._record, self._branch, self._loop, self._commands = record, branch, loop, commands

    def before(self, batch: int) -> None:
        """Whatever was turned before the batch. Raises Refused when its own turn is refused."""
        for command in self._record.turns.get(batch, ()):
            scope, name = command.payload.get("scope"), command.payload.get("knob")
            if batch < self._branch.batch or not self._is_own(scope, name):
                self._ask(command.kind, _standing(command), command.actor, command.reason)
        self._loop.idle()
        for _ in range(2):  # one that is turned back may set another
            for knob in self._others(batch):
                why = f"as in {self._branch.run} from this batch on"
                self._ask("knob", _turn(knob.scope, knob.name, knob.value), ENGINE_AS_RECORDED, why)
            self._loop.idle()
        if batch == self._branch.batch:
            self._turn()

    def _others(self, batch: int) -> Iterator[Knob]:
        """Knobs that are not as they were at the batch."""
        scopes = self._loop.settings.scopes
        for (scope, name), knob in self._record.in_force(batch).items():
            if self._is_own(scope, name) and batch >= self._branch.batch:
                continue
            if scope in scopes and scopes[scope].values.get(name, knob.value) != knob.value:
                yield knob

    def _is_own(self, scope: str | None, name: object) -> bool:
        """Also of the knob that its own one sets. scope None: the only one with such a knob."""
        branch = self._branch
        return name in (branch.knob, self._sets(branch.scope, branch.knob)) and scope in (
            None,
            branch.scope,
        )

    def _sets(self, scope: str, name: str) -> str | None:
        """The knob that is set when this one is turned."""
        known = self._loop.settings.scopes.get(scope)
        spec = known.specs.get(name) if known is not None else None
        return spec.sets[0] if spec is not None and spec.sets else None

    def _turn(self) -> None:
        branch = self._branch
        known = self._loop.settings.scopes.get(branch.scope)
        if known is None:
            raise Refused(f"{branch.scope} does not come to be in the branch")
        if known.values[branch.knob] == branch.value:
            return
        payload = _turn(branch.scope, branch.knob, branch.value)
        self._ask("knob", payload, "branch", f"the branch of {branch.run} begins here")
        self._loop.idle()
        if self._loop.settings.scopes[branch.scope].values[branch.knob] != branch.value:
            raise Refused(f"{branch.knob} = {branch.value} is refused, as the commands say")

    def _ask(self, kind: str, payload: dict[str, object], actor: str, reason: str) -> None:
        self._commands.append_command(self._loop.run.id, kind, payload, actor, reason, time.time())


def _standing(command: Command) -> dict[str, object]:
    """Of a recorded command; one that was taken back is turned back when it was."""
    return {key: value for key, value in command.payload.items() if key != "unless_kept_s"}


def _turn(scope: str, name: str, value: object) -> dict[str, object]:
    return {"knob": name, "scope": scope, "value": value}


def told_apart(reader: Reader, branch: BranchOf, branched: str) -> Event:
    """Whether the batches before the branch came out as recorded; an error where they matched
    otherwise. branched: the branch's run."""
    until = branch.batch - 1
    decisions = [_decided(reader, run, until) for run in (branch.run, branched)]
    keys = decisions[0].keys() | decisions[1].keys()
    n_others = sum(decisions[0].get(key) != decisions[1].get(key) for key in keys)
    counts = [_matched(reader, run, until) for run in (branch.run, branched)]
    n_batches = sum(counts[0].get(batch) != counts[1].get(batch) for batch in counts[0])
    ref = {"decisions": len(keys), "differently": n_others, "batches": n_batches}
    if n_batches:
        title = f"{n_batches} of {len(counts[0])} batches before the branch matched otherwise"
        return Event("run", title, "the data or functions are others now", "error", ref)
    if n_others:
        title = f"{n_others} of {len(keys)} decisions before the branch came out differently"
        return Event(
            "run", title, "measured times differ, or how tuples were spread", "warning", ref
        )
    title = f"the {len(keys)} decisions before the branch came out as recorded"
    return Event("run", title, branch.words, ref=ref)


def _decided(reader: Reader, run: str, until: int) -> dict[tuple[str, int], tuple[object, ...]]:
    """(unit, number) -> what was decided, without measured numbers."""
    rows = reader.decisions(run, until=until, limit=_ALL) if until >= 0 else ()
    decisions = (row.decision for row in rows)
    return {(decision.unit_id, decision.seq): _outcome(decision) for decision in decisions}


def _outcome(decision: Decision) -> tuple[object, ...]:
    return decision.batch, decision.kind, decision.verdict, str(decision.new)


def _matched(reader: Reader, run: str, until: int) -> dict[int | None, tuple[int, int]]:
    rows = reader.batches(run, None, until, _ALL) if until >= 0 else ()
    return {row.id: (row.n_matched, row.n_misfits) for row in rows}
