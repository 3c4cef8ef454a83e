"""Turns of knobs and their records in the store: what the next one would do, what the last did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from dashboard.views.book import SYSTEM, Book
from dashboard.views.choices import CHOSEN, RecordedChoices, read_choices
from dashboard.views.decisions import MIN_SAMPLES
from dashboard.views.effects import (
    Evaluated,
    KnobEffect,
    before_and_after,
    of_choices,
    of_plan_held,
    of_steps,
    of_trials,
)
from dashboard.views.knobs import knob_of
from dashboard.views.numbers import known
from dashboard.views.rechecks import RECHECKED, CheckEffect, read_checks, recheck
from dashboard.views.reorder import ProfileStep, read_steps
from dashboard.views.whatif import REPLAYED, Trial, read_trials, told
from storage.reader import Reader
from storage.vocabulary.rank_rule import REORDERED
from storage.vocabulary.records import Command, Knob

#: Decisions read, newest ones.
MAX_DECISIONS: Final = 1000
#: A turn is judged over so many re-computation periods, or so many batches.
PERIODS: Final = 20
BATCHES: Final = 30
#: Turns judged, newest ones.
MOST_JUDGED: Final = 20
#: Knobs whose turn leads to another plan at once: judged against the plan of before.
REBUILDING: Final = ("ordering", "hybrid_compare", "min_support")
#: What a batch costs, by what there is: of the unit (property, words), else of the engine.
COSTS: Final = (("network_us", "time per tuple"), ("visits_per_tuple", "visits"))
BATCH_TIME: Final = ("batch_ms", "batch time")


def trials_of(reader: Reader, run: str, until: int | None, unit: str | None) -> tuple[Trial, ...]:
    """The trials of the newest decisions of a unit up to a batch."""
    last = reader.decision_counts(run, until, unit).evaluated
    return _trials(reader.base, run, until, unit, last)


@lru_cache(maxsize=16)
def _trials(
    reader: Reader, run: str, until: int | None, unit: str | None, last: int
) -> tuple[Trial, ...]:
    """last: seq of the newest, so that news are read."""
    found = reader.decisions(run, until=until, limit=MAX_DECISIONS, unit=unit)
    return tuple(read_trials(found))


class TurnRecord(NamedTuple):
    """What is on record of the rule behind a knob from a batch on, oldest first: trials of a
    selection, profiled batches of filters (with those before, which fill the window), or what other
    values would have planned."""

    name: str
    since: int = 0
    trials: Sequence[Trial] = ()
    steps: Sequence[ProfileStep] = ()
    choices: Sequence[RecordedChoices] = ()

    def between(self, first: int, end: int | None) -> TurnRecord:
        """Of batches from first on, before end."""
        last = math.inf if end is None else end
        return TurnRecord(
            self.name,
            first,
            [one for one in self.trials if first <= one.batch < last],
            [one for one in self.steps if one.batch < last],
            [one for one in self.choices if first <= one.batch < last],
        )

    def cut(self, span_tuples: int) -> tuple[TurnRecord, bool]:
        """As much as a verdict takes, and whether there is more. span_tuples: of trials."""
        trials = [one for one in self.trials if one.at - self.trials[0].at <= span_tuples]
        steps = [one for one in self.steps if one.batch < self.since + BATCHES]
        found = TurnRecord(self.name, self.since, trials, steps, self.choices[:BATCHES])
        return found, any(len(a) < len(b) for a, b in zip(found[2:], self[2:], strict=True))

    def again(self, value: Any) -> Evaluated | None:
        """The record under another value; None where it does not tell that."""
        if self.name in REPLAYED and self.trials:
            return of_trials(self.trials, {self.name: value})
        if self.steps:
            found = of_steps(self.steps, {self.name: value}, self.since)
        else:
            found = of_choices(self.choices, str(value), CHOSEN.get(self.name, ""))
        return found if found.both else None


def record_of(
    reader: Reader, run: str, until: int | None, unit: str | None, name: str
) -> TurnRecord:
    """The newest decisions of a unit up to a batch, as far as they tell of a knob."""
    kept = name in (*REPLAYED, *REBUILDING)
    trials = told(trials_of(reader, run, until, unit), name) if kept else ()
    if name not in (*REORDERED, *CHOSEN):
        return TurnRecord(name, 0, trials)
    last = reader.decision_counts(run, until, unit).evaluated
    return TurnRecord(name, 0, trials, *_told(reader.base, run, until, unit, name, last))


@lru_cache(maxsize=16)
def _told(
    reader: Reader, run: str, until: int | None, unit: str | None, name: str, last: int
) -> tuple[list[ProfileStep], list[RecordedChoices]]:
    """last: seq of the newest, so that news are read."""
    found = reader.decisions(run, until=until, limit=MAX_DECISIONS, unit=unit)
    return read_steps(found) if name in REORDERED else [], read_choices(found, name)


def previewed(reader: Reader, run: str, knob: Knob, value: Any) -> KnobEffect | CheckEffect | None:
    """What the newest evaluations would have become; None where the record cannot tell."""
    found = record_of(reader, run, None, knob.scope, knob.name).again(value)
    if found is not None:
        return found.preview(MIN_SAMPLES)
    if knob.name in RECHECKED:
        checks = read_checks(reader.decisions(run, limit=MAX_DECISIONS, unit=knob.scope))
        return recheck(checks, float(value)) if checks else None
    return None


def effects(
    reader: Reader, run: str, turns: Sequence[Command], until: int | None
) -> dict[int, tuple[KnobEffect, bool]]:
    """Number of the command -> what an applied turn did up to a batch, and whether that is final.

    Each is judged until the next turn of a knob of its scope. turns: newest first.
    """
    applied = [
        one
        for one in turns
        if one.kind == "knob" and one.applied_batch is not None and one.old_value is not None
    ]
    knobs = reader.knobs(run, until)
    scopes = {one.id: _scope(one, knobs) for one in applied}
    found = {}
    for one in applied[:MOST_JUDGED]:
        scope = scopes[one.id]
        rest = [other for other in applied if other.id > one.id]
        later = [other.applied_batch for other in rest if scopes[other.id] == scope]
        end = min(filter(None, later), default=None)
        found[one.id] = _judge(reader, run, one, scope, until, end)
    return found


def _scope(turn: Command, knobs: Sequence[Knob]) -> str | None:
    """Of the knob that was turned; a request may leave it out where one knob has that name."""
    knob = knob_of(turn.payload, knobs)
    return turn.payload.get("scope") if knob is None else knob.scope


def _judge(
    reader: Reader, run: str, turn: Command, scope: str | None, until: int | None, end: int | None
) -> tuple[KnobEffect, bool]:
    """end: batch of the next turn, None = there is none."""
    name = str(turn.payload.get("knob"))
    first = turn.applied_batch or 0
    record = record_of(reader, run, until, scope, name).between(first, end)
    near, is_full = record.cut(PERIODS * _period(reader, run, first, scope))
    is_rebuilt = name in REBUILDING and len(near.trials) > 0
    found = of_plan_held(near.trials) if is_rebuilt else near.again(turn.old_value)
    if found is None:
        return _beside(reader, run, scope, first, until, end)
    return found.judged(MIN_SAMPLES), end is not None or is_full


def _period(reader: Reader, run: str, at: int, scope: str | None) -> int:
    """λ of the unit, in tuples."""
    for knob in reader.knobs(run, at):
        if knob.scope == scope and knob.name == "lambda_tuples":
            return int(knob.value)
    return 0


def _beside(
    reader: Reader, run: str, scope: str | None, first: int, until: int | None, end: int | None
) -> tuple[KnobEffect, bool]:
    """What a batch cost before and after, by the first of COSTS that is known of the unit."""
    last = first + BATCHES - 1 if end is None else min(end, first + BATCHES) - 1
    stop = last if until is None else min(last, until)
    own = Book(reader.entities(run, first), scope or "").systems()[1:] if scope else ()
    keys = {(entity, name): words for name, words in COSTS for entity in own}
    keys[SYSTEM, BATCH_TIME[0]] = BATCH_TIME[1]
    found = reader.many_series(run, list(keys), since_batch=first - BATCHES, until_batch=stop)
    for key, words in keys.items():
        series = found.get(key)
        if series is None:
            continue
        pairs = [
            (batch, value)
            for batch, value in zip(series.batch.tolist(), series.value.tolist(), strict=True)
            if known(value)
        ]
        before = [value for batch, value in pairs if batch < first]
        after = [value for batch, value in pairs if batch >= first]
        is_full = stop == last and len(after) >= last - first + 1
        if pairs:
            return before_and_after(before, after, words), is_full
    return before_and_after((), ()), False
