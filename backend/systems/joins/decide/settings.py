"""What may be set of the decisions on a join."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from backend.adaptive.ordering.rule import Rule
from backend.systems.joins.decide.shape import Orders
from backend.systems.joins.decide.statistics import ELEMENTS
from storage.vocabulary.rank_rule import fraction

JoinOrder: TypeAlias = Literal[
    "a-greedy", "sweep", "independent", "local swaps", "optimal", "fixed", "joint"
]
Caching: TypeAlias = Literal["off", "exact", "greedy", "trees"]

#: Costs are measured in nanoseconds, or counted in index probes as in the text.
CostsBy: TypeAlias = Literal["measured", "counted"]

#: Cost of a cache operation in index probes, where operations are counted (card 16: small).
W: Final = 0.25


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """How a join is tuned.

    join_order: what keeps the orders of the pipelines, an algorithm of filters; 'fixed': nothing,
    but checked by 'a-greedy'; 'joint': searched together with the caches, in joins of few inputs
    (else as 'a-greedy'). ``orders`` are those to begin with (with 'fixed', to keep); (): as
    planned. alpha, confidence, order_samples, cooldown_tuples, profile_tuples: of the checks of its
    invariant; stage_tuples: of a stage of 'sweep', in profiled elements that something drops.
    caching: how caches are chosen. pool_bytes: of all caches of the join, in all the n_shards it
    runs in. interval_tuples: I, from a selection to the next profiling. window_observations: W.
    change_share: by how much a benefit or cost has to move for a new selection. candidates: m, how
    many caches are considered where fewer have the prefix invariant. pinned, forbidden: ids of
    caches. profile_prob: share of elements that are profiled. cost_by: in which unit costs are. w:
    of a cache operation, in index probes, where costs are counted. ways, block_probes,
    bitmap_alpha, two_phase, seed: as in ``JoinTuning``. knob_version: of the knobs these are from,
    for the record.
    """

    join_order: JoinOrder = "a-greedy"
    orders: Orders = ()
    alpha: float = 0.8
    confidence: float = 0.99
    order_samples: int = 100
    profile_tuples: int = 1000
    stage_tuples: int = 500
    cooldown_tuples: int = 0
    caching: Caching = "exact"
    pool_bytes: int = 1 << 22
    interval_tuples: int = 10_000
    window_observations: int = 10
    change_share: float = 0.2
    candidates: int = 6
    pinned: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    profile_prob: float = 0.005
    cost_by: CostsBy = "measured"
    w: float = W
    ways: int = 4
    block_probes: int = 1000
    bitmap_alpha: int = 8
    two_phase: bool = False
    seed: int = 0
    n_shards: int = 1
    knob_version: int = 0

    @property
    def keep_elements(self) -> int:
        """Profiled elements of a pipeline that are looked at."""
        return self.window_observations * ELEMENTS

    @property
    def order_algorithm(self) -> str:
        """What checks the order of a pipeline."""
        return "a-greedy" if self.join_order in ("fixed", "joint") else self.join_order

    @property
    def least_samples(self) -> int:
        """Profiled elements that a check of an order takes."""
        return min(self.order_samples, self.profile_tuples)

    @property
    def rule(self) -> Rule:
        """What makes a violation of the Greedy Invariant."""
        return _rule(self.alpha, self.confidence)

    @property
    def cost_unit(self) -> str:
        """Of all costs."""
        return "ns per element" if self.cost_by == "measured" else "probes per element"


@lru_cache(maxsize=64)
def _rule(alpha: float, confidence: float) -> Rule:
    return Rule(False, fraction(alpha), confidence)
