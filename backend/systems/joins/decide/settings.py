"""What may be set of the decisions on a join."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from backend.adaptive.ordering.ranks import fraction
from backend.adaptive.ordering.rule import Rule
from backend.systems.joins.decide.shape import Orders
from backend.systems.joins.decide.statistics import ELEMENTS
from backend.systems.joins.knobs import JoinKnobs

#: Cost of a cache operation in index probes, where operations are counted (card 16: small).
W: Final = 0.25
#: Profile windows until conditions have settled.
_SETTLING: Final = 2


@dataclass(frozen=True, slots=True)
class JoinSettings(JoinKnobs):
    """How a join is tuned: the knobs in force, and what nobody turns.

    orders: those to begin with (with join_order 'fixed', to keep); (): as planned. alpha,
    confidence, order_samples, cooldown_tuples, profile_tuples: of the checks of their invariant;
    stage_tuples: of a stage of 'sweep', in profiled elements that something drops. change_share: by
    how much a benefit or cost has to move for a new selection. pinned, forbidden: ids of the caches
    that the knobs name. w: cost of a cache operation in index probes, where costs are counted.
    block_probes, seed: as in ``JoinTuning``. n_shards: that the join runs in.
    """

    orders: Orders = ()
    alpha: float = 0.8
    confidence: float = 0.99
    order_samples: int = 100
    profile_tuples: int = 1000
    stage_tuples: int = 500
    cooldown_tuples: int = 0
    change_share: float = 0.2
    pinned: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    w: float = W
    block_probes: int = 1000
    seed: int = 0
    n_shards: int = 1

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
    def settling_samples(self) -> int:
        """Profiled elements until conditions that changed count as known."""
        return _SETTLING * self.profile_tuples

    @property
    def rule(self) -> Rule:
        """What makes a violation of the Greedy Invariant."""
        return _rule(self.alpha, self.confidence)

    @property
    def cost_unit(self) -> str:
        """Of all costs."""
        return "ns per element" if self.join_costs == "measured" else "probes per element"


@lru_cache(maxsize=64)
def _rule(alpha: float, confidence: float) -> Rule:
    return Rule(False, fraction(alpha), confidence)
