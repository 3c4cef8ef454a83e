"""What a look of the autopilot is called on record, for cores and for those who read it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

#: Kind of such a decision.
LOOK: Final = "look"
#: Its metric: the left side of the inequality.
SURE_SAVING: Final = "sure saving × dwell"
#: Where its detail has what it takes to decide again.
RECORD: Final = "plan_log"
#: Matrix, and its kind: the share of the sampled tuples that each statistic is taken of.
SAMPLING: Final = "sampling share"
#: Where a schema has what is decided, of a unit with several logs; and how that ends where an
#: autopilot decides it.
SUBJECT: Final = "subject"
BY_AUTOPILOT: Final = " by autopilot"
#: Looks of a log after which one keeps the state behind it.
KEEP_EVERY: Final = 256
#: What a look leaves out of its record where it is false, 0 or empty.
OMITTED: Final = frozenset(
    {"plans", "replaced", "is_transient", "known", "settling", "prices", "past"}
)
#: Where a look has what plans that ran before cost on its sample, digest -> step; and what the plan
#: in force, at its first look, would have cost at looks before, [[number, step]].
PRICES: Final = "prices"
PAST: Final = "past"
#: A price is that of the plan in force at the look, times this to the power of a step.
PRICE_BASE: Final = 1.01
#: The knob that says who decides, and its values.
POLICY: Final = "policy"
THRESHOLDS: Final = "thresholds"
AUTOPILOT: Final = "autopilot"
#: Looks that kept the plan, by verdict: whether that was for being below the threshold.
SHORT_OF: Final[Mapping[str, int]] = {"kept": 0, "below_threshold": 1}


@dataclass(frozen=True, slots=True)
class LoggedEvaluation:
    """An evaluation that no autopilot took, as the plan log has it. seq, batch, algorithm,
    knob_version: of its decision, stored or not; version: of the plan in force; record: in the form
    of a look, without a saving that is sure, a dwell or a next look; subject, cost_unit: of its
    log."""

    seq: int
    batch: int
    algorithm: str
    version: int
    knob_version: int
    record: Any
    subject: str
    cost_unit: str
    unit_id: str = ""


def is_piloted(subject: str) -> bool:
    """Whether logs of a subject are an autopilot's: ('') the only one of its unit, or one of
    several."""
    return not subject or subject.endswith(BY_AUTOPILOT)


def counted(cost_unit: str) -> str:
    """What runs under plans whose cost is in this unit: 'tuple', 'element' of a pipeline."""
    return cost_unit.replace(" per ", "/").partition("/")[2] or "tuple"


def form_digest(form: Any) -> str:
    """Twelve hexadecimal digits that stand for a plan, or other JSON, the same for equal ones."""
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def price_step(price: float, present: float) -> int | None:
    """Step of a price, which comes back within half a percent; None where one of both is 0."""
    if not (price > 0 and present > 0):
        return None
    return round((math.log(price) - math.log(present)) / math.log(PRICE_BASE))


def stepped_price(step: int, present: float) -> float:
    """The price of a step."""
    return present * PRICE_BASE**step


def ran_after(record: Any, later: Any) -> tuple[int, float | None]:
    """Tuples that ran under the plan of a look until the later one, and their mean cost. later: of
    the same unit, None = there is none."""
    if later is None or later.get("replaced") or later["began"] != record["began"]:
        return 0, None
    n_tuples, cost = later["ran"]
    return n_tuples, cost / n_tuples if n_tuples else None
