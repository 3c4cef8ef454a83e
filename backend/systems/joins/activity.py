"""What is counted of all elements of a join, watched or not: what says that something changed."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.join_tuning import JoinProfile

#: Changes are shares of no less than this: an operation of an element in a hundred.
_FEW: Final = 0.01
#: Standard deviations of a mean, as a share of it, that are chance where elements are no more
#: alike than those of an exponential distribution.
_CHANCE: Final = 4.0


class Activity(NamedTuple):
    """came: float64[n], elements of each input. done: float64[n, 2], index probes and built tuples
    of those."""

    came: NDArray[np.float64]
    done: NDArray[np.float64]

    @classmethod
    def of(cls, profile: JoinProfile) -> Activity:
        """A batch."""
        came = [one.n_plus + one.n_minus for one in profile.pipelines]
        done = [(one.n_probes, one.n_built) for one in profile.pipelines]
        return cls(np.array(came, np.float64), np.array(done, np.float64))

    @property
    def rates(self) -> NDArray[np.float64]:
        """float64[n, 3]: of each input, elements per element of the join, and what is done for each
        of them."""
        shares = self.came / max(1.0, float(self.came.sum()))
        return np.column_stack([shares, self.done / np.maximum(self.came, 1.0)[:, None]])

    def has_moved(self, usual: Activity, change_share: float) -> bool:
        """Whether something is another by more than that share of what is usual, and by more than
        chance has it among so few elements."""
        before = usual.rates
        fewer, more = np.minimum(self.came, usual.came), np.maximum(self.came, usual.came)
        n = np.column_stack([more, fewer, fewer])
        least = np.maximum(change_share, _CHANCE / np.sqrt(np.maximum(n, 1.0)))
        moved = np.abs(self.rates - before) > least * np.maximum(before, _FEW)
        return bool(moved.any())
