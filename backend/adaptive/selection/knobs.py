"""The knobs of adaptive selection: what an operator may turn, with unit, range and help."""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from backend.adaptive.selection.cost import CostModel
from backend.adaptive.selection.matching import StopRule
from backend.model.knobs import KnobSettings, KnobSpec

_MANY: Final = 100_000_000

SELECTION_KNOBS: Final = (
    KnobSpec(
        "mu",
        "float",
        0.1,
        "",
        "Rearrangement threshold μ: the order is reconsidered when the watched quantity has "
        "changed by this share since it was last measured (0.1 = 10 %). 0 reconsiders always.",
        low=0.0,
        high=10.0,
        scale="log",
    ),
    KnobSpec(
        "lambda_tuples",
        "int",
        5000,
        "tuples",
        "Re-computation period λ: the trigger is checked every so many tuples, on as many.",
        low=100,
        high=_MANY,
        scale="log",
    ),
    KnobSpec(
        "tau_tuples",
        "int",
        2000,
        "tuples",
        "Monitoring period τ: the profile window keeps this many sampled tuples, and a new order "
        "is built from at most so many. 1000 and more give stable orders.",
        low=10,
        high=1_000_000,
        scale="log",
    ),
    KnobSpec(
        "profile_prob",
        "float",
        0.1,
        "prob",
        "Probability that a tuple is sampled for the profile window. The cost of watching grows "
        "with it.",
        low=0.0,
        high=1.0,
        entity="monitor:profile",
    ),
    KnobSpec(
        "min_samples",
        "int",
        200,
        "tuples",
        "A plan is never changed on fewer sampled tuples than this.",
        low=1,
        high=1_000_000,
        scale="log",
    ),
    KnobSpec(
        "cooldown_tuples",
        "int",
        5000,
        "tuples",
        "After a switch, no further one for so many tuples. 0 allows one at every check.",
        low=0,
        high=_MANY,
    ),
    KnobSpec(
        "trigger",
        "choice",
        "visits",
        "",
        "What is compared with μ: the change of mean visits per tuple, of the tuple dropping "
        "ratio (eq. 5; blind to a change of which attribute filters), or the larger of both.",
        choices=("visits", "dropping ratio", "either"),
    ),
    KnobSpec(
        "stop_rule",
        "choice",
        "resolved",
        "",
        "When a tuple is done: resolved skips constructs that cannot change the outcome any more; "
        "drop is the paper's rule, stopping only when no query is left. Same results.",
        choices=("resolved", "drop"),
    ),
    KnobSpec(
        "no_drop_visit_cost",
        "float",
        0.5,
        "visits",
        "Cost of visiting a construct branch-free, relative to a visit with early drop. The plan "
        "'no early drop' is chosen when all visits at this price are cheaper.",
        low=0.0,
        high=10.0,
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


class Settings(NamedTuple):
    """The values in force, typed; version is that of the knob settings."""

    version: int
    mu: float
    lambda_tuples: int
    tau_tuples: int
    min_samples: int
    cooldown_tuples: int
    trigger: str
    stop_rule: StopRule
    no_drop_visit_cost: float
    reject_sample_every: int

    @classmethod
    def of(cls, knobs: KnobSettings) -> Settings:
        """Read the selection knobs; other knobs are left alone.

        A window that holds less than min_samples can never be full enough, so the lesser counts.
        """
        return cls(
            version=knobs.version,
            mu=knobs.number("mu"),
            lambda_tuples=knobs.whole("lambda_tuples"),
            tau_tuples=knobs.whole("tau_tuples"),
            min_samples=min(knobs.whole("min_samples"), knobs.whole("tau_tuples")),
            cooldown_tuples=knobs.whole("cooldown_tuples"),
            trigger=knobs.word("trigger"),
            stop_rule=cast("StopRule", knobs.word("stop_rule")),
            no_drop_visit_cost=knobs.number("no_drop_visit_cost"),
            reject_sample_every=knobs.whole("reject_sample_every"),
        )

    @property
    def cost_model(self) -> CostModel:
        """How visits turn into cost."""
        return CostModel(self.stop_rule, self.no_drop_visit_cost)
