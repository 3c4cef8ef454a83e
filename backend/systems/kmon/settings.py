"""What decisions on one join go by: knobs, and what is declared, pinned and forbidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from backend.operators.network.kmon.tuning import UNKNOWN_K, Loss
from backend.systems.kmon.knobs import KMonKnobs


@dataclass(frozen=True, slots=True)
class KMonSettings:
    """declared: constraint -> its k; pinned, forbidden: constraints; all by key. unmet: what was
    declared of the streams and is about none of the join's attributes, in words."""

    knobs: KMonKnobs = field(default_factory=KMonKnobs)
    declared: Mapping[str, int] = field(default_factory=dict)
    pinned: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    unmet: tuple[str, ...] = ()

    @property
    def loss(self) -> Loss:
        """What becomes of tuples that are let go."""
        return cast(Loss, self.knobs.loss)

    @property
    def window(self) -> int:
        """W."""
        return self.knobs.window_arrivals

    @property
    def takes_all(self) -> bool:
        """Whether k alone says what is used."""
        return self.knobs.constraint_choice == "threshold"

    def is_offered(self, key: str) -> bool:
        """Whether a constraint is watched, and may be used unless it is forbidden."""
        mode = self.knobs.constraints
        return mode == "monitored" or (mode == "declared" and key in self.declared)

    def may_use(self, key: str, refuted: int) -> bool:
        """Whether a constraint may be used at all. refuted: as in ``ConstraintStanding``: a k that
        was declared and does not hold is no reason to drop tuples."""
        is_refuted = refuted != UNKNOWN_K and self.knobs.constraints == "declared"
        is_unsafe = is_refuted and self.loss == "budget"
        return self.is_offered(key) and key not in self.forbidden and not is_unsafe

    def fixed_k(self, key: str, refuted: int) -> int:
        """k that is not estimated; -1: it is. One that was refuted goes on being used only where
        nothing else may be, and nothing is lost."""
        if refuted != UNKNOWN_K and self.knobs.constraints == "monitored":
            return UNKNOWN_K
        return self.declared.get(key, UNKNOWN_K)

    def is_within(self, k: int) -> bool:
        """Whether a known k is small enough."""
        limit = self.knobs.k_threshold
        return k != UNKNOWN_K and (limit == UNKNOWN_K or k <= limit)
