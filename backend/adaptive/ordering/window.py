"""The profile window: a sliding window of profile tuples, kept as column bitsets. [B05] §4.3.1"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.view import Columns
from backend.model.bits import pack
from backend.model.filters import DROPPED, Outcomes

_LEAST_CAPACITY: Final = 64


@dataclass(slots=True)
class _Stretch:
    """The profile tuples of one batch that are left: dropped ones, and passes sampled with them."""

    time_s: float
    n_dropped: int
    n_left: int
    n_passed: int
    is_complete: bool

    @property
    def passes_left(self) -> int:
        """Passes go with the dropped tuples they came with."""
        return self.n_passed * self.n_left // self.n_dropped if self.n_dropped else self.n_passed


class ProfileWindow:
    """The last profile tuples, by number of dropped ones or by age; bits by filter, not position.

    A ring of slots holds, per dropped tuple, which filters drop it; filters that were not asked
    (Sweep, LocalSwaps) count as passed. Passes are counted only: they add nothing to V and give the
    absolute selectivities. n_filters columns.
    """

    def __init__(self, n_filters: int) -> None:
        self.n_filters = n_filters
        self._stretches: deque[_Stretch] = deque()
        self._head = self._tail = 0
        self._allocate(_LEAST_CAPACITY)

    def __len__(self) -> int:
        return self._tail - self._head

    @property
    def n_passed(self) -> int:
        """Profiled tuples no filter dropped, of the batches the window reaches back to."""
        return sum(stretch.passes_left for stretch in self._stretches)

    @property
    def columns(self) -> Columns:
        """uint64[n, words]: the drops; slots without a tuple hold zeros."""
        return self._packed.view(np.uint64)

    @property
    def is_complete(self) -> bool:
        """Every filter was to be asked about every tuple."""
        return all(stretch.is_complete for stretch in self._stretches)

    def drops(self) -> NDArray[np.bool_]:
        """bool[k, n]: the window's dropped tuples, oldest first."""
        drops: NDArray[np.bool_] = self._ring[:, self._slots(self._head, self._tail)].T
        return drops

    def add(
        self, outcomes: Outcomes, n_passed: int, time_s: float, is_complete: bool = True
    ) -> Columns:
        """Insert the profile tuples of one batch; their drops as bitsets.

        outcomes: int8[k, n], each row with at least one drop. is_complete: all filters were asked
        about all of them, not only about those that happen to have no gap.
        """
        k = len(outcomes)
        self._make_room(k)
        slots = self._slots(self._tail, self._tail + k)
        drops = (outcomes == DROPPED).T
        self._ring[:, slots] = drops
        self._tail += k
        self._repack(slots)
        if k or n_passed:
            self._stretches.append(_Stretch(time_s, k, k, n_passed, is_complete))
        return pack(drops)

    def expire(self, keep: int | None, since_s: float | None = None) -> Columns:
        """Forget all but the last ``keep`` dropped tuples, and those before ``since_s``.

        Returns the drops of what was forgotten, as bitsets.
        """
        first = self._head
        while self._stretches and self._is_stale(self._stretches[0], since_s, keep):
            self._head += self._stretches.popleft().n_left
        surplus = 0 if keep is None else len(self) - keep
        while surplus > 0:
            oldest = self._stretches[0]
            gone = min(surplus, oldest.n_left)
            surplus -= gone
            oldest.n_left -= gone
            self._head += gone
            if not oldest.n_left:
                self._stretches.popleft()
        return self._vacate(first)

    def clear(self) -> None:
        """Forget everything."""
        self._stretches.clear()
        self._vacate_all()

    def completed(self) -> ProfileWindow:
        """The window without the batches that were not asked everything; itself if there are none.

        All of such a batch goes: its tuples without a gap are no fair sample.
        """
        return self if self.is_complete else self.of_filters(range(self.n_filters))

    def of_filters(self, kept: Sequence[int]) -> ProfileWindow:
        """The window of a query that has only these filters, as if it always had; complete batches.

        Tuples that only filters now gone dropped have become passes.
        """
        filters = list(kept)
        window = ProfileWindow(len(filters))
        start = self._head
        for stretch in self._stretches:
            rows = self._ring[:, self._slots(start, start + stretch.n_left)][filters].T
            start += stretch.n_left
            if stretch.is_complete:
                dropped = rows.any(axis=1)
                n_passed = stretch.passes_left + int((~dropped).sum())
                window.add(rows[dropped].astype(np.int8), n_passed, stretch.time_s)
        return window

    def _is_stale(self, stretch: _Stretch, since_s: float | None, keep: int | None) -> bool:
        """Too old, or one of too many batches that hardly drop anything."""
        if keep is not None and len(self._stretches) > 2 * keep + _LEAST_CAPACITY:
            return True
        return since_s is not None and stretch.time_s < since_s

    def _slots(self, start: int, end: int) -> NDArray[np.intp]:
        return np.arange(start, end) % self._capacity

    def _allocate(self, capacity: int) -> None:
        self._capacity = capacity
        self._ring = np.zeros((self.n_filters, capacity), dtype=np.bool_)
        self._packed = np.zeros((self.n_filters, capacity // 8), dtype=np.uint8)

    def _make_room(self, k: int) -> None:
        """Let the ring take k more tuples; it doubles until they fit."""
        needed, capacity = len(self) + k, self._capacity
        if needed <= capacity:
            return
        slots = self._slots(self._head, self._tail)
        ring, n = self._ring[:, slots], len(self)
        while capacity < needed:
            capacity *= 2
        self._allocate(capacity)
        self._ring[:, :n] = ring
        self._head, self._tail = 0, n
        self._repack(self._slots(0, n))

    def _vacate(self, first: int) -> Columns:
        slots = self._slots(first, self._head)
        gone = pack(self._ring[:, slots])
        self._ring[:, slots] = False
        self._repack(slots)
        return gone

    def _vacate_all(self) -> None:
        self._head = self._tail = 0
        self._allocate(self._capacity)

    def _repack(self, slots: NDArray[np.intp]) -> None:
        places = np.unique(slots // 8)
        bits = (places[:, None] * 8 + np.arange(8)).ravel()
        self._packed[:, places] = np.packbits(self._ring[:, bits], axis=1)
