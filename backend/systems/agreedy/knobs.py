"""The knobs of adaptive filter orders: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.adaptive import knobs as shared
from backend.adaptive.ordering.ranks import fraction
from backend.adaptive.ordering.rule import Rule
from backend.model.knobs import Knobs, knob
from storage.vocabulary.planlog import AUTOPILOT

ALGORITHMS: Final = ("a-greedy", "sweep", "independent", "local swaps", "optimal", "static")
#: A window bounded by age is taken for new after so many times the least sample.
_ROUNDS: Final = 5
#: Windows until conditions have settled.
_SETTLING: Final = 2
RACES: Final = ("off", "all", *ALGORITHMS)


@dataclass(frozen=True, slots=True)
class AgreedyKnobs(Knobs):
    """The knobs of a unit and their values in force."""

    filter_algorithm: str = knob(
        "a-greedy",
        choices=ALGORITHMS,
        help="What keeps the order of the filters: a-greedy watches every pair; sweep one filter "
        "at a time; independent ignores correlation; local swaps compares neighbours; optimal "
        "tries all orders of up to 14 filters; static keeps the order it finds.",
    )
    policy: str = shared.policy()
    caution: float = shared.caution()
    alpha: float = shared.threshold(
        0.9,
        low=0,
        high=1,
        help="Thrashing-avoidance parameter α: a filter is overtaken when its drops per "
        "microsecond are below α times the challenger's. 1 acts on every difference, 0 on "
        "none.",
    )
    violation_rule: str = shared.threshold(
        "alpha",
        choices=("alpha", "evidence"),
        help="What makes a violation: a ratio below α, or evidence: the confidence interval of the "
        "difference of ranks lies above zero.",
    )
    confidence: float = shared.threshold(
        0.99,
        low=0.5,
        high=0.999999,
        unit="prob",
        help="Confidence of the interval that is shown with each check, and decides by evidence.",
    )
    window_by: str = knob(
        "tuples",
        choices=("tuples", "seconds"),
        entity="profile",
        help="What bounds the profile window: a number of profile tuples, or their age.",
    )
    window_tuples: int = knob(
        1000,
        low=1,
        high=1_000_000,
        unit="tuples",
        scale="log",
        entity="profile",
        help="Profile tuples the window keeps when it is bounded by number.",
    )
    window_s: float = knob(
        300.0,
        low=0.1,
        high=1_000_000,
        unit="s",
        scale="log",
        entity="profile",
        help="Age at which profile tuples are forgotten when the window is bounded by age.",
    )
    stage_tuples: int = knob(
        500,
        low=1,
        high=1_000_000,
        unit="tuples",
        scale="log",
        help="Profile tuples after which sweep moves to the next filter when nothing was violated.",
    )
    profile_policy: str = knob(
        "fixed",
        choices=("fixed", "boost", "boost and flush"),
        entity="profile",
        help="fixed keeps the profile probability; boost raises it after a detected change until "
        "the window is new; boost and flush also empties the window then.",
    )
    boost_prob: float = knob(
        0.2,
        low=0,
        high=1,
        unit="prob",
        entity="profile",
        help="Profile probability after a detected change, unless it is higher already.",
    )
    native_cost_us: float = knob(
        0.02,
        low=0,
        high=1_000,
        unit="us/tuple",
        scale="log",
        help="Cost that is assumed of a native filter, one that compares attributes with "
        "constants.",
    )
    race: str = knob(
        "off",
        choices=RACES,
        entity="profile",
        help="Algorithms compared in the shadow, on the same profile tuples: all, or one with the "
        "algorithm in force. Profile tuples are then shown to every filter.",
    )
    profile_prob: float = shared.profile_prob(0.01)
    min_samples: int = shared.min_samples(100)
    cooldown_tuples: int = shared.cooldown_tuples(0)
    reject_sample_every: int = shared.reject_sample_every(1)

    @property
    def is_piloted(self) -> bool:
        """Whether the autopilot decides; an order that is to stay is not left to it."""
        return self.policy == AUTOPILOT and self.filter_algorithm != "static"

    @property
    def rule(self) -> Rule:
        """What makes a violation."""
        return Rule(self.violation_rule == "evidence", fraction(self.alpha), self.confidence)

    @property
    def keep_tuples(self) -> int | None:
        """Profile tuples the window keeps; None when it is bounded by age."""
        return self.window_tuples if self.window_by == "tuples" else None

    @property
    def keep_s(self) -> float | None:
        """Age profile tuples may have; None when the window is bounded by number."""
        return None if self.window_by == "tuples" else self.window_s

    @property
    def renewal_tuples(self) -> int:
        """Profile tuples that make the window new."""
        return self.keep_tuples or _ROUNDS * self.least_samples

    @property
    def settling_tuples(self) -> int:
        """Profile tuples until conditions that changed count as known."""
        return _SETTLING * self.renewal_tuples

    @property
    def least_samples(self) -> int:
        """Profile tuples a check takes. A window shorter than min_samples can never be full enough,
        so the lesser counts."""
        return min(self.min_samples, self.keep_tuples or self.min_samples)
