"""Whether tuples between bounds can satisfy a query of a plan: by the bitmaps tuples meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from backend.operators.selection.layout import NONE, Words
from backend.workloads.row_groups import Bounds, BoundsOf

if TYPE_CHECKING:
    from backend.operators.selection.worker import ShippedPlan

_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Stretches of regions whose bitmaps are remembered.
_KNOWN: Final = 1024


class Refuting:
    """A plan's test of bounds: the bitmaps of all regions of an attribute that lie between them,
    ORed, then ANDed over the attributes. A slot that is left may be satisfied; with none left, no
    tuple satisfies a query. Queries without predicates are always left."""

    def __init__(self, plan: ShippedPlan) -> None:
        self._plan = plan
        self._known: dict[tuple[int, int, int, bool], Words] = {}

    def __call__(self, bounds: BoundsOf) -> bool:
        """Whether no tuple between the bounds satisfies a query."""
        left = self._plan.layout.initial.copy()
        for place, (attribute, _) in enumerate(self._plan.order):
            left &= self._slots(place, *self._stretch(place, bounds(attribute)))
            if not left.any():
                return True
        return not left.any()

    def _stretch(self, place: int, bounds: Bounds) -> tuple[int, int, bool]:
        """The first and the last region that values hit, and whether some hit the one of NULL."""
        from backend.operators.selection.worker import look_up

        starts = self._plan.layout.region_starts
        last = int(starts[place + 1] - starts[place]) - 1
        if bounds.ends is None:
            return 1, last, bounds.has_null
        if not len(bounds.ends):
            return 1, 0, True
        hit = np.empty(2, dtype=np.int32)
        look_up(bounds.ends, self._plan.order[place][1], self._plan.searches[place], hit)
        low, high = hit.tolist()
        # NaN, or ends in the wrong order, say nothing
        return (low, high, bounds.has_null) if 1 <= low <= high else (1, last, True)

    def _slots(self, place: int, low: int, high: int, has_null: bool) -> Words:
        """The slots that some value of those regions leaves."""
        key = (place, low, high, has_null)
        if key not in self._known:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            regions = [0, *range(low, high + 1)] if has_null else range(low, high + 1)
            self._known[key] = self._union(place, regions)
        return self._known[key]

    def _union(self, place: int, regions: Sequence[int]) -> Words:
        layout = self._plan.layout
        slots = np.zeros(len(layout.initial), dtype=np.uint64)
        n_tiles = len(layout.tile_starts) - 1
        hit = int(layout.region_starts[place]) + np.array(regions, dtype=np.int64)
        for tile in range(n_tiles):
            begin, end = layout.tile_starts[tile], layout.tile_starts[tile + 1]
            rows = np.unique(layout.row_at[hit * n_tiles + tile])
            if not len(rows):
                continue
            if rows[0] == NONE:  # no slot of the tile uses the construct
                slots[begin:end] = _ALL
                continue
            for row in rows:
                slots[begin:end] |= layout.pool[row : row + end - begin]
        return slots
