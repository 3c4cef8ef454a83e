"""Turns of knobs and their trials in the store: what the next one would do, what the last did."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from dashboard.views.book import SYSTEM
from dashboard.views.decisions import MIN_SAMPLES
from dashboard.views.effects import KnobEffect, before_and_after, judged, preview
from dashboard.views.numbers import known
from dashboard.views.rechecks import RECHECKED, CheckEffect, read_checks, recheck
from dashboard.views.whatif import REPLAYED, Trial, read_trials
from storage.reader import Reader
from storage.vocabulary.records import Command, Knob

#: Decisions read, newest ones.
MAX_DECISIONS: Final = 1000
#: A turn is judged over so many re-computation periods, or so many batches.
PERIODS: Final = 20
BATCHES: Final = 30
#: Turns judged, newest ones.
MOST_JUDGED: Final = 20


def trials_of(reader: Reader, run: str, until: int | None, unit: str | None) -> tuple[Trial, ...]:
    """The trials of the newest decisions of a unit up to a batch."""
    return _trials(reader, run, until, unit, reader.decision_counts(run, until, unit).evaluated)


@lru_cache(maxsize=16)
def _trials(
    reader: Reader, run: str, until: int | None, unit: str | None, last: int
) -> tuple[Trial, ...]:
    """last: seq of the newest, so that news are read."""
    found = reader.decisions(run, until=until, limit=MAX_DECISIONS, unit=unit)
    return tuple(read_trials(found))


def previewed(reader: Reader, run: str, knob: Knob, value: Any) -> KnobEffect | CheckEffect | None:
    """What the newest evaluations would have become; None for a knob no rule is replayed with."""
    if knob.name in RECHECKED:
        found = reader.decisions(run, limit=MAX_DECISIONS, unit=knob.scope)
        checks = read_checks(found)
        return recheck(checks, float(value)) if checks else None
    trials = trials_of(reader, run, None, knob.scope) if knob.name in REPLAYED else ()
    return preview(trials, {knob.name: value}, MIN_SAMPLES) if trials else None


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
    found = {}
    for one in applied[:MOST_JUDGED]:
        scope = one.payload.get("scope")
        later = [
            other.applied_batch
            for other in applied
            if other.id > one.id and other.payload.get("scope") == scope
        ]
        found[one.id] = _judge(reader, run, one, until, min(filter(None, later), default=None))
    return found


def _judge(
    reader: Reader, run: str, turn: Command, until: int | None, end: int | None
) -> tuple[KnobEffect, bool]:
    """end: batch of the next turn, None = there is none."""
    name, scope = str(turn.payload.get("knob")), turn.payload.get("scope")
    first = turn.applied_batch or 0
    trials = trials_of(reader, run, until, scope) if name in REPLAYED else ()
    mine = [one for one in trials if first <= one.batch and (end is None or one.batch < end)]
    if not mine:
        return _beside(reader, run, first, until, end)
    span = PERIODS * _period(reader, run, first, scope)
    within = [one for one in mine if one.at - mine[0].at <= span]
    over = end is not None or len(within) < len(mine)
    return judged(within, {name: turn.old_value}, MIN_SAMPLES), over


def _period(reader: Reader, run: str, at: int, scope: str | None) -> int:
    """λ of the unit, in tuples."""
    for knob in reader.knobs(run, at):
        if knob.scope == scope and knob.name == "lambda_tuples":
            return int(knob.value)
    return 0


def _beside(
    reader: Reader, run: str, first: int, until: int | None, end: int | None
) -> tuple[KnobEffect, bool]:
    last = first + BATCHES - 1 if end is None else min(end, first + BATCHES) - 1
    stop = last if until is None else min(last, until)
    series = reader.series(
        run, SYSTEM, "visits_per_tuple", since_batch=first - BATCHES, until_batch=stop
    )
    if series is None:
        return before_and_after((), ()), False
    pairs = list(zip(series.batch.tolist(), series.value.tolist(), strict=True))
    before = [value for batch, value in pairs if batch < first and known(value)]
    after = [value for batch, value in pairs if batch >= first and known(value)]
    return before_and_after(before, after), stop == last and len(after) >= last - first + 1
