"""The recorded checks of filters under another value of a knob: as previews and as verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from dashboard.panels.turns import BATCHES, MAX_DECISIONS
from dashboard.systems.agreedy.rechecks import (
    RECHECKED,
    CheckEffect,
    RecordedCheck,
    read_checks,
    recheck,
)
from dashboard.systems.agreedy.reorder import ProfileStep, read_steps, reorder
from dashboard.views.decisions import MIN_SAMPLES
from dashboard.views.effects import Both, Evaluated, KnobAsked, KnobEffect, RuleRecord
from storage.reader import Reader
from storage.vocabulary.rank_rule import REORDERED

#: What is told of: expected time of a chain of filters.
COST: Final = "cost"


@dataclass(frozen=True, slots=True)
class CheckRecord(RuleRecord):
    """Profiled batches, with those before the first, which fill the window, and the checks."""

    steps: Sequence[ProfileStep]
    checks: Sequence[RecordedCheck]

    def cut(self) -> tuple[CheckRecord, bool]:
        near = [one for one in self.steps if one.batch < self.asked.first + BATCHES]
        return replace(self, steps=near), len(near) < len(self.steps)

    def preview(self, value: Any) -> KnobEffect | CheckEffect | None:
        found = self.again(value)
        if found is not None:
            return found.preview(MIN_SAMPLES)
        known = self.asked.knob in RECHECKED and self.checks
        return recheck(self.checks, float(value)) if known else None

    def again(self, value: Any) -> Evaluated | None:
        if not self.steps:
            return None
        found = of_steps(self.steps, {self.asked.knob: value}, self.asked.first)
        return found if found.both else None


def replay(asked: KnobAsked) -> CheckRecord | None:
    """What a unit recorded at its checks, as far as it tells of a knob."""
    if asked.knob not in REORDERED:
        return None
    reader, run, until, unit = asked.reader, asked.run, asked.until, asked.unit
    last = reader.decision_counts(run, until, unit).evaluated
    steps, checks = _told(reader.base, run, until, unit, last)
    return CheckRecord(asked, [one for one in steps if one.batch < asked.last], checks)


@lru_cache(maxsize=16)
def _told(
    reader: Reader, run: str, until: int | None, unit: str | None, last: int
) -> tuple[list[ProfileStep], list[RecordedCheck]]:
    """last: seq of the newest, so that news are read."""
    found = reader.decisions(run, until=until, limit=MAX_DECISIONS, unit=unit)
    return read_steps(found), read_checks(found)


def of_steps(steps: Sequence[ProfileStep], knobs: Mapping[str, Any], since: int = 0) -> Evaluated:
    """Checks of filters decided again with other values from batch ``since`` on."""
    found = reorder(steps, knobs, since)
    both = [Both(one.real_us, one.ghost_us, one.n) for one in found if one.n]
    went = sum(one.real_switched for one in found), sum(one.ghost_switched for one in found)
    return Evaluated(both, went, sum(one.n for one in found), COST)
