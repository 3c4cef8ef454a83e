"""What a visit of each construct takes on this machine, timed now and then for the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from backend.systems.asc.constructs import ConstructSet

#: Sampled tuples a measurement takes, at most and at least, and how often it is repeated.
_MOST: Final = 2000
_FEWEST: Final = 50
_ROUNDS: Final = 5
#: Batches between two measurements of the same constructs.
_EVERY: Final = 50


def measure_visit_costs(
    constructs: ConstructSet,
    sample: Mapping[str, Sequence[Any]],
    clock: Callable[[], float],
    rounds: int = _ROUNDS,
) -> dict[str, float]:
    """Microseconds per tuple of a visit: region search and AND, the least of several rounds.

    sample: attribute -> values of the same tuples. clock: seconds. Nothing for a sample that lacks
    an attribute or has fewer than 50 tuples.
    """
    columns = {a: sample.get(a, ())[:_MOST] for a in constructs.attributes}
    if not columns or min(map(len, columns.values())) < _FEWEST:
        return {}
    return {
        a: min(_visit_us(constructs, a, values, clock) for _ in range(rounds))
        for a, values in columns.items()
    }


def _visit_us(
    constructs: ConstructSet, attribute: str, values: Sequence[Any], clock: Callable[[], float]
) -> float:
    construct = constructs.constructs[attribute]
    grb = np.repeat(constructs.initial[None, :], len(values), axis=0)
    before = clock()
    grb &= construct.qrb[construct.regions_of(values)]
    return max(clock() - before, 1e-9) * 1e6 / len(values)


class VisitCostMeter:
    """Measures now and then, as long as it is wanted."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._of: ConstructSet | None = None
        self._batches = 0

    def read(
        self, wanted: bool, constructs: ConstructSet, sample: Mapping[str, Sequence[Any]]
    ) -> dict[str, float]:
        """Times for one batch's event; empty when none are wanted, due or possible."""
        if not wanted:
            self._of = None
            return {}
        self._batches += 1
        if self._of is constructs and self._batches < _EVERY:
            return {}
        visit_costs = measure_visit_costs(constructs, sample, self._clock)
        if visit_costs:
            self._of, self._batches = constructs, 0
        return visit_costs
