"""Making operators."""

from __future__ import annotations

from backend.operators.network.contract import NetworkOperator, Surroundings
from backend.operators.network.plan import PlannedOperator


def make(planned: PlannedOperator, surroundings: Surroundings) -> NetworkOperator:
    """Provisional."""
    raise NotImplementedError(planned.id)
