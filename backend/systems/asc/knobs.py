"""The knobs of adaptive selection: what people may turn, with unit, range and help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backend.adaptive import knobs as shared
from backend.model.knobs import Knobs, knob
from backend.systems.asc.cost import CostModel, branch_free_price
from backend.systems.asc.hybrid import Compare, Rules
from backend.systems.asc.matching import StopRule
from backend.systems.asc.orderings import BASELINES, ORDERINGS, Ordering
from storage.vocabulary.planlog import AUTOPILOT


@dataclass(frozen=True, slots=True)
class AscKnobs(Knobs):
    """The knobs of a unit and their values in force."""

    ordering: Ordering = knob(
        "macro",
        choices=ORDERINGS,
        help="How plans are built: macro-sequence, hybrid-sequence (micro-arrows per region), the "
        "2007 orders macs, sas and macssas, the best fixed order on the sample, and to "
        "compare with the worst one and ticket routing, which run as asked. A change leads to "
        "a new plan at once.",
    )
    policy: str = shared.policy()
    caution: float = shared.caution()
    mu: float = shared.threshold(
        0.1,
        low=0,
        high=10,
        scale="log",
        help="Rearrangement threshold μ: the order is reconsidered when the watched quantity has "
        "changed by this share since it was last measured (0.1 = 10 %). 0 reconsiders always.",
    )
    lambda_tuples: int = shared.threshold(
        5000,
        low=100,
        high=100_000_000,
        unit="tuples",
        scale="log",
        help="Re-computation period λ: the trigger is checked every so many tuples, on as many.",
    )
    tau_tuples: int = knob(
        2000,
        low=10,
        high=1_000_000,
        unit="tuples",
        scale="log",
        help="Monitoring period τ: the profile window keeps this many sampled tuples, and a new "
        "order is built from at most so many; of a batch as large as the last about as many "
        "are sampled. 1000 and more give stable orders.",
    )
    profile_prob: float = shared.profile_prob(0.1)
    min_samples: int = shared.min_samples(200)
    cooldown_tuples: int = shared.cooldown_tuples(5000)
    trigger: str = shared.threshold(
        "visits",
        choices=("visits", "dropping ratio", "either"),
        help="What is compared with μ: the change of mean visits per tuple, of the tuple dropping "
        "ratio (eq. 5; blind to a change of which attribute filters), or the larger of both.",
    )
    stop_rule: StopRule = knob(
        "resolved",
        choices=("resolved", "drop"),
        help="When a tuple is done: resolved skips constructs that cannot change the outcome any "
        "more; drop is the paper's rule, stopping only when no query is left. Same results.",
    )
    no_drop_visit_cost: float = knob(
        0.0,
        low=0,
        high=10,
        unit="visits",
        help="Cost of visiting a construct branch-free, relative to a visit with early drop. The "
        "plan 'no early drop' is chosen when all visits at this price are cheaper. 0 takes "
        "what was measured for bitmaps as wide as those in use; 1 counts every visit as the "
        "papers do.",
    )
    min_gain: float = shared.threshold(
        0.01,
        low=0,
        high=1,
        scale="log",
        help="Hysteresis: a new plan must be predicted cheaper than the one in force by this share "
        "(0.01 = 1 %), else the old one is kept.",
    )
    visit_costs: str = knob(
        "equal",
        choices=("equal", "measured"),
        help="What a visit costs: equal counts every construct as 1, as the papers do; measured "
        "weighs each with the time its region search takes (mean 1) when plans are compared; "
        "best and worst order by it, too.",
    )
    monitoring: str = knob(
        "one sample",
        choices=("one sample", "by period"),
        help="What a new order is measured on: one sample for all its steps, or by period, as in "
        "the papers: a period of τ sampled tuples for each step, the trigger waiting "
        "meanwhile.",
    )
    hybrid_compare: Compare = knob(
        "local",
        choices=("local", "global"),
        help="What a micro-arrow must not be worse than: local, the macro-arrow on the same "
        "tuples; global, the macro step of that level over all tuples.",
    )
    min_support: int = knob(
        10,
        low=1,
        high=1_000_000,
        unit="tuples",
        scale="log",
        help="Sampled tuples in a region that a decision on its micro-arrow takes. Fewer over-fit.",
    )
    bitmap_memory: float = knob(
        1024.0,
        low=0.01,
        high=1_048_576,
        unit="MiB",
        scale="log",
        help="Memory the bitmaps of all constructs may take. A query that would make them larger "
        "is refused; what each construct takes is on its card.",
    )
    reject_sample_every: int = shared.reject_sample_every(1)
    what_if: bool = knob(
        True,
        help="Record with each evaluation what the last orders of the run cost there, so that "
        "another μ can be tried on the recorded run. Takes about a millisecond an evaluation.",
    )

    @property
    def least_samples(self) -> int:
        """Sampled tuples a decision takes. A window that holds less than min_samples can never be
        full enough, so the lesser counts."""
        return min(self.min_samples, self.tau_tuples)

    @property
    def is_piloted(self) -> bool:
        """Whether the autopilot decides; baselines and orders measured by period are not left to
        it."""
        is_open = self.ordering not in BASELINES and not self.by_period
        return self.policy == AUTOPILOT and is_open

    @property
    def by_period(self) -> bool:
        """Whether each step of an order is measured on a period of its own."""
        return self.monitoring == "by period"

    @property
    def rules(self) -> Rules:
        """How micro-arrows are decided."""
        return Rules(self.stop_rule, self.hybrid_compare, self.min_support)

    @property
    def bitmap_bytes(self) -> int:
        """What the bitmaps may take."""
        return round(self.bitmap_memory * 2**20)

    def cost_model(self, weights: Mapping[str, float] | None, n_words: int) -> CostModel:
        """How visits turn into cost. weights: as measured, None when they are not (yet); n_words:
        of a bitmap."""
        used = weights if self.visit_costs == "measured" else None
        price = self.no_drop_visit_cost or branch_free_price(n_words)
        return CostModel(self.stop_rule, price, used)
