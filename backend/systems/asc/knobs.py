"""The knobs of adaptive selection: what an operator may turn, with unit, range and help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from backend.model.knobs import KnobSettings, KnobSpec
from backend.systems.asc.cost import CostModel, branch_free_price
from backend.systems.asc.hybrid import Compare, Rules
from backend.systems.asc.matching import StopRule
from backend.systems.asc.orderings import ORDERINGS, Ordering

_MANY: Final = 100_000_000

SELECTION_KNOBS: Final = (
    KnobSpec(
        "ordering",
        "choice",
        "macro",
        "",
        "How plans are built: macro-sequence, hybrid-sequence (micro-arrows per region), the 2007 "
        "orders macs, sas and macssas, the best fixed order on the sample, and to compare with the "
        "worst one and ticket routing, which run as asked. A change leads to a new plan at once.",
        choices=ORDERINGS,
    ),
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
        "is built from at most so many; of a batch as large as the last about as many are sampled. "
        "1000 and more give stable orders.",
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
        0.0,
        "visits",
        "Cost of visiting a construct branch-free, relative to a visit with early drop. The plan "
        "'no early drop' is chosen when all visits at this price are cheaper. 0 takes what was "
        "measured for bitmaps as wide as those in use; 1 counts every visit as the papers do.",
        low=0.0,
        high=10.0,
    ),
    KnobSpec(
        "min_gain",
        "float",
        0.01,
        "",
        "Hysteresis: a new plan must be predicted cheaper than the one in force by this share "
        "(0.01 = 1 %), else the old one is kept.",
        low=0.0,
        high=1.0,
    ),
    KnobSpec(
        "visit_costs",
        "choice",
        "equal",
        "",
        "What a visit costs: equal counts every construct as 1, as the papers do; measured weighs "
        "each with the time its region search takes (mean 1) when plans are compared; best and "
        "worst order by it, too.",
        choices=("equal", "measured"),
    ),
    KnobSpec(
        "monitoring",
        "choice",
        "one sample",
        "",
        "What a new order is measured on: one sample for all its steps, or by period, as in the "
        "papers: a period of τ sampled tuples for each step, the trigger waiting meanwhile.",
        choices=("one sample", "by period"),
    ),
    KnobSpec(
        "hybrid_compare",
        "choice",
        "local",
        "",
        "What a micro-arrow must not be worse than: local, the macro-arrow on the same tuples; "
        "global, the macro step over all tuples (the literal text).",
        choices=("local", "global"),
    ),
    KnobSpec(
        "min_support",
        "int",
        10,
        "tuples",
        "Sampled tuples in a region that a decision on its micro-arrow takes. Fewer over-fit.",
        low=1,
        high=1_000_000,
        scale="log",
    ),
    KnobSpec(
        "bitmap_memory",
        "float",
        1024.0,
        "MiB",
        "Memory the bitmaps of all constructs may take. A query that would make them larger is "
        "refused; what each construct takes is on its card.",
        low=0.01,
        high=1_048_576.0,
        scale="log",
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
    KnobSpec(
        "what_if",
        "bool",
        True,
        "",
        "Record with each evaluation what the last orders of the run cost there, so that another μ "
        "can be tried on the recorded run. Takes about a millisecond an evaluation.",
    ),
)

#: What a unit of this system has.
ASC_KNOBS: Final = (
    *SELECTION_KNOBS,
    KnobSpec(
        "executor",
        "choice",
        "kernels",
        "",
        "What runs a plan: compiled kernels in Spark's Python workers, or native Spark "
        "expressions, where the plan is small enough for them.",
        choices=("kernels", "expressions"),
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
    ordering: Ordering
    min_gain: float
    visit_costs: str
    monitoring: str
    rules: Rules
    bitmap_bytes: int
    what_if: bool

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
            ordering=cast("Ordering", knobs.word("ordering")),
            min_gain=knobs.number("min_gain"),
            visit_costs=knobs.word("visit_costs"),
            monitoring=knobs.word("monitoring"),
            rules=Rules(
                cast("StopRule", knobs.word("stop_rule")),
                cast("Compare", knobs.word("hybrid_compare")),
                knobs.whole("min_support"),
            ),
            bitmap_bytes=round(knobs.number("bitmap_memory") * 2**20),
            what_if=knobs.flag("what_if"),
        )

    @property
    def by_period(self) -> bool:
        """Whether each step of an order is measured on a period of its own."""
        return self.monitoring == "by period"

    def cost_model(self, weights: Mapping[str, float] | None, n_words: int) -> CostModel:
        """How visits turn into cost. weights: as measured, None when they are not (yet); n_words:
        of a bitmap."""
        used = weights if self.visit_costs == "measured" else None
        price = self.no_drop_visit_cost or branch_free_price(n_words)
        return CostModel(self.stop_rule, price, used)
