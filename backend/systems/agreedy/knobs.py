"""The knobs of adaptive filter orders: what an operator may turn, with unit, range and help."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, NamedTuple

from backend.model.knobs import KnobSettings, KnobSpec
from backend.systems.agreedy.exact import fraction

ALGORITHMS: Final = ("a-greedy", "sweep", "independent", "local swaps", "optimal", "static")
RACES: Final = ("off", "all", *ALGORITHMS)
_MONITOR: Final = "monitor:profile"

FILTER_KNOBS: Final = (
    KnobSpec(
        "filter_algorithm",
        "choice",
        "a-greedy",
        "",
        "What keeps the order of the filters: a-greedy watches every pair; sweep one filter at a "
        "time; independent ignores correlation; local swaps compares neighbours; optimal tries "
        "all orders of up to 14 filters; static keeps the order it finds.",
        choices=ALGORITHMS,
    ),
    KnobSpec(
        "alpha",
        "float",
        0.9,
        "",
        "Thrashing-avoidance parameter α: a filter is overtaken when its drops per microsecond "
        "are below α times the challenger's. 1 acts on every difference, 0 on none.",
        low=0.0,
        high=1.0,
    ),
    KnobSpec(
        "violation_rule",
        "choice",
        "alpha",
        "",
        "What makes a violation: a ratio below α, or evidence: the confidence interval of the "
        "difference of ranks lies above zero.",
        choices=("alpha", "evidence"),
    ),
    KnobSpec(
        "confidence",
        "float",
        0.99,
        "prob",
        "Confidence of the interval that is shown with each check, and decides by evidence.",
        low=0.5,
        high=0.999999,
    ),
    KnobSpec(
        "window_by",
        "choice",
        "tuples",
        "",
        "What bounds the profile window: a number of profile tuples, or their age.",
        choices=("tuples", "seconds"),
        entity=_MONITOR,
    ),
    KnobSpec(
        "window_tuples",
        "int",
        1000,
        "tuples",
        "Profile tuples the window keeps when it is bounded by number.",
        low=1,
        high=1_000_000,
        scale="log",
        entity=_MONITOR,
    ),
    KnobSpec(
        "window_s",
        "float",
        300.0,
        "s",
        "Age at which profile tuples are forgotten when the window is bounded by age.",
        low=0.1,
        high=1_000_000.0,
        scale="log",
        entity=_MONITOR,
    ),
    KnobSpec(
        "stage_tuples",
        "int",
        500,
        "tuples",
        "Profile tuples after which sweep goes on to the next filter when nothing was violated.",
        low=1,
        high=1_000_000,
        scale="log",
    ),
    KnobSpec(
        "profile_policy",
        "choice",
        "fixed",
        "",
        "fixed keeps the profile probability; boost raises it after a detected change until the "
        "window is new; boost and flush also empties the window then.",
        choices=("fixed", "boost", "boost and flush"),
        entity=_MONITOR,
    ),
    KnobSpec(
        "boost_prob",
        "float",
        0.2,
        "prob",
        "Profile probability after a detected change, unless it is higher already.",
        low=0.0,
        high=1.0,
        entity=_MONITOR,
    ),
    KnobSpec(
        "native_cost_us",
        "float",
        0.02,
        "us/tuple",
        "Cost of a native filter: it is part of a compiled expression and cannot be timed alone.",
        low=0.0,
        high=1000.0,
    ),
    KnobSpec(
        "race",
        "choice",
        "off",
        "",
        "Algorithms compared in the shadow, on the same profile tuples: all, or one with the "
        "algorithm in force. Profile tuples are then shown to every filter.",
        choices=RACES,
        entity=_MONITOR,
    ),
)

#: What a unit of this system has.
AGREEDY_KNOBS: Final = (
    *FILTER_KNOBS,
    KnobSpec(
        "profile_prob",
        "float",
        0.01,
        "prob",
        "Probability that a tuple is sampled for the profile window. The cost of watching grows "
        "with it.",
        low=0.0,
        high=1.0,
        entity=_MONITOR,
    ),
    KnobSpec(
        "min_samples",
        "int",
        100,
        "tuples",
        "A plan is never changed on fewer sampled tuples than this.",
        low=1,
        high=1_000_000,
        scale="log",
    ),
    KnobSpec(
        "cooldown_tuples",
        "int",
        0,
        "tuples",
        "After a switch, no further one for so many tuples. 0 allows one at every check.",
        low=0,
        high=100_000_000,
    ),
    KnobSpec(
        "reject_sample_every",
        "int",
        1,
        "decisions",
        "Store every n-th evaluation that stayed below the threshold or was thin; all are counted.",
        low=1,
        high=1_000_000,
        scale="log",
    ),
)


class Rule(NamedTuple):
    """When one filter outranks another enough to act: by α, or by evidence."""

    by_evidence: bool
    alpha: Fraction
    confidence: float

    @property
    def threshold(self) -> Fraction:
        """The α of the first look; evidence looks at every difference."""
        return Fraction(1) if self.by_evidence else self.alpha


class Settings(NamedTuple):
    """The values in force, typed; version is that of the knob settings. window_s None: bounded by
    number, window_tuples None: by age."""

    version: int
    algorithm: str
    rule: Rule
    profile_prob: float
    window_tuples: int | None
    window_s: float | None
    min_samples: int
    stage_tuples: int
    cooldown_tuples: int
    profile_policy: str
    boost_prob: float
    native_cost_us: float
    reject_sample_every: int
    race: str

    @classmethod
    def of(cls, knobs: KnobSettings) -> Settings:
        """Read the filter knobs; a window or stage shorter than min_samples can never be full
        enough, so the lesser counts."""
        by_number = knobs.word("window_by") == "tuples"
        window = knobs.whole("window_tuples")
        least = min(knobs.whole("min_samples"), window if by_number else knobs.whole("min_samples"))
        return cls(
            version=knobs.version,
            algorithm=knobs.word("filter_algorithm"),
            rule=Rule(
                knobs.word("violation_rule") == "evidence",
                fraction(knobs.number("alpha")),
                knobs.number("confidence"),
            ),
            profile_prob=knobs.number("profile_prob"),
            window_tuples=window if by_number else None,
            window_s=None if by_number else knobs.number("window_s"),
            min_samples=least,
            stage_tuples=knobs.whole("stage_tuples"),
            cooldown_tuples=knobs.whole("cooldown_tuples"),
            profile_policy=knobs.word("profile_policy"),
            boost_prob=knobs.number("boost_prob"),
            native_cost_us=knobs.number("native_cost_us"),
            reject_sample_every=knobs.whole("reject_sample_every"),
            race=knobs.word("race"),
        )
