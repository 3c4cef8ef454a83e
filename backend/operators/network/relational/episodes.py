"""What happens to each group at each tick, and counts that follow it.

An episode is the elements of one group at one tick. Aggregates are told once an episode: what they
were before it, and what they are after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints, Values
from backend.operators.network.core.regions import Regions
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.selection.bits import kernel


class BeforeAfter(NamedTuple):
    """Something of a group, before and after each of m episodes: [m] both."""

    before: Values
    after: Values


@dataclass(frozen=True, slots=True)
class Episodes:
    """n elements in m episodes, in order of their first elements.

    slot: int64[n], the group of each element; number: int64[n], its episode. first: int64[m], the
    first element; group: int64[m], its slot.
    """

    slot: Ints
    number: Ints
    first: Ints
    group: Ints

    def __len__(self) -> int:
        return len(self.first)


class EpisodeFinder:
    """Finds the episodes of blocks; what it keeps from one to the next only saves time."""

    def __init__(self) -> None:
        self._marks = np.zeros(0, np.int32)

    def find(self, slot: Ints, tau: Ints, capacity: int) -> Episodes:
        """slot: of the group of each element, below ``capacity``; tau: nondecreasing."""
        if len(self._marks) < capacity:
            self._marks = np.zeros(capacity, np.int32)
        number, first = np.empty((2, len(slot)), np.int64)
        m = _find(slot, tau, self._marks, number, first)
        return Episodes(slot, number, first[:m].copy(), slot[first[:m]])


class GroupCounts:
    """A sum of small numbers for each group."""

    def __init__(self, regions: Regions, name: str, groups: KeyTable) -> None:
        self._sums = SlotValues(regions, name, "int64", groups)

    def add(self, episodes: Episodes, deltas: Ints) -> BeforeAfter:
        """Add one number for each element; int64[m] before and after."""
        before, after = np.empty((2, len(episodes)), np.int64)
        _add(self._sums.array, episodes.slot, episodes.number, deltas, before, after)
        return BeforeAfter(before, after)

    def of(self, slots: Ints) -> Ints:
        """The sums of some groups."""
        sums: Ints = self._sums.array[slots]
        return sums


@kernel
def _find(slot: Ints, tau: Ints, marks: NDArray[np.int32], number: Ints, first: Ints) -> int:
    """Write ``number`` and ``first``; returns the number of episodes.

    marks: by slot, the number of its last episode, or anything: it counts if that episode is one of
    the slot at this tick.
    """
    n_found = 0
    for i in range(len(slot)):
        mark = int(marks[slot[i]])
        if mark >= n_found or slot[first[mark]] != slot[i] or tau[first[mark]] != tau[i]:
            mark = n_found
            marks[slot[i]] = mark
            first[mark] = i
            n_found += 1
        number[i] = mark
    return n_found


@kernel
def _add(sums: Ints, slot: Ints, number: Ints, deltas: Ints, before: Ints, after: Ints) -> None:
    n_begun = 0
    for i in range(len(slot)):
        total = sums[slot[i]]
        if number[i] == n_begun:
            before[n_begun] = total
            n_begun += 1
        total += deltas[i]
        sums[slot[i]] = total
        after[number[i]] = total
