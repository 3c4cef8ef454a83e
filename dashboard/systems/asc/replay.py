"""The record of a selection under another value of a knob: as previews, as verdicts, as a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from dashboard.panels.turns import MAX_DECISIONS
from dashboard.systems.asc.recorded_trials import REPLAYED, Trial, read_trials, told
from dashboard.systems.asc.whatif_view import UNKNOWN, redecide
from dashboard.views.decisions import MIN_SAMPLES
from dashboard.views.effects import VISITS, Both, Evaluated, KnobAsked, KnobEffect, RuleRecord
from storage.reader import Reader

#: Knobs whose turn leads to another plan at once: judged against the plan of before.
REBUILDING: Final = ("ordering", "hybrid_compare", "min_support")
#: A turn is judged over so many re-computation periods.
PERIODS: Final = 20
PERIOD: Final = "lambda_tuples"
PRICE: Final = "no_drop_visit_cost"
AT_MEASURED: Final = "visits, branch-free ones at the measured price,"
HELD: Final = "against the plan of before, kept (paired)"


def trials_of(reader: Reader, run: str, until: int | None, unit: str | None) -> tuple[Trial, ...]:
    """The trials of the newest decisions of a unit up to a batch."""
    last = reader.decision_counts(run, until, unit).evaluated
    return _trials(reader.base, run, until, unit, last)


@lru_cache(maxsize=16)
def _trials(
    reader: Reader, run: str, until: int | None, unit: str | None, last: int
) -> tuple[Trial, ...]:
    """last: seq of the newest, so that news are read."""
    decisions = reader.decisions(run, until=until, limit=MAX_DECISIONS, unit=unit)
    return tuple(read_trials(decisions))


@dataclass(frozen=True, slots=True)
class TrialRecord(RuleRecord):
    """The trials of the evaluations."""

    trials: Sequence[Trial]

    def cut(self) -> tuple[TrialRecord, bool]:
        span = PERIODS * _period(self.asked) if self.trials else 0
        near = [trial for trial in self.trials if trial.at - self.trials[0].at <= span]
        return replace(self, trials=near), len(near) < len(self.trials)

    def judge(self, old: Any) -> KnobEffect | None:
        if self.asked.knob in REBUILDING and self.trials:
            return of_plan_held(self.trials).judged(MIN_SAMPLES)
        return RuleRecord.judge(self, old)

    def again(self, value: Any) -> Evaluated | None:
        known = self.asked.knob in REPLAYED and self.trials
        return of_trials(self.trials, {self.asked.knob: value}) if known else None


def replay(asked: KnobAsked) -> TrialRecord | None:
    """The trials of a unit, as far as they tell of a knob."""
    if asked.knob not in (*REPLAYED, *REBUILDING):
        return None
    trials = told(trials_of(asked.reader, asked.run, asked.until, asked.unit), asked.knob)
    between = [trial for trial in trials if asked.first <= trial.batch < asked.last]
    return TrialRecord(asked, between)


def _period(asked: KnobAsked) -> int:
    """λ of the unit, in tuples."""
    for knob in asked.reader.knobs(asked.run, asked.first):
        if knob.scope == asked.unit and knob.name == PERIOD:
            return int(knob.value)
    return 0


def of_trials(trials: Sequence[Trial], knobs: Mapping[str, Any]) -> Evaluated:
    """Evaluations of a selection decided again with other values."""
    steps = redecide(trials, knobs)
    both, n = [], 0
    decided = [step for step in steps if step.ghost != UNKNOWN]
    apart = sum(a.n_sample != step.trial.n_sample for a, step in zip(trials, steps, strict=True))
    for step in steps:
        if step.real_cost is not None and step.ghost_cost is not None:
            both.append(Both(step.real_cost, step.ghost_cost, step.n_tuples))
            n += step.trial.n
    went = sum(s.real == "switched" for s in decided), sum(s.ghost == "switched" for s in decided)
    quantity = AT_MEASURED if PRICE in knobs else VISITS
    against = f"{apart} of {len(steps)} times on other samples than it would read" if apart else ""
    return Evaluated(both, went, n, quantity, against)


def of_plan_held(trials: Sequence[Trial]) -> Evaluated:
    """The plans in force since the first evaluation, beside the one in force there, kept."""
    held, both, n = trials[0].running, [], 0
    for trial in trials:
        real, ghost = trial.cost(trial.running), trial.cost(held)
        if real is not None and ghost is not None:
            both.append(Both(real.cost, ghost.cost, 1.0))
            n += trial.n
    return Evaluated(both, None, n, VISITS, HELD)
