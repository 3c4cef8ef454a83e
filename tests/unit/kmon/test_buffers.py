"""What a call of the join's kernels leaves behind stays within the arrays it was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backend.operators.network.kmon.holding import TuplePlaces
from backend.operators.network.kmon.state import JoinState
from backend.operators.network.kmon.tuning import ConstraintId, ConstraintTuning, KMonTuning
from backend.operators.network.kmon.words import Memory
from tests.unit.kmon.joining import GRAPHS, UNBOUNDED, Arrival, Joining

#: Arrays that kernels append to, in a call.
APPENDED = ("stack", "moved", "freed", "thinned")
GUARD, UNTOUCHED = 1 << 16, -77
CLUSTERED = (ConstraintId("CA", 0, place=1), ConstraintId("CA", 1, place=1))


class Guarded:
    """The memory of joins, with room behind its arrays that nobody may write to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, np.ndarray[Any, Any]]] = []
        memory = JoinState.memory

        def guarded(state: JoinState, places: TuplePlaces) -> Memory:
            given = memory(state, places)
            arrays = {name: self._behind(name, getattr(given, name)) for name in APPENDED}
            return given._replace(**arrays)

        monkeypatch.setattr(JoinState, "memory", guarded)

    def _behind(self, name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        whole = np.full(len(array) + GUARD, UNTOUCHED, array.dtype)
        self.made.append((name, whole[len(array) :]))
        return whole[: len(array)]

    def overrun(self) -> list[str]:
        """Arrays that were not large enough."""
        return sorted({name for name, guard in self.made if (guard != UNTOUCHED).any()})


def clustered_again(n_times: int) -> list[Arrival]:
    """Two children, whose parents of both roots come in turns: each is let go and comes back."""
    arrivals: list[Arrival] = [(2, (5, 0), 0), (2, (6, 0), 0)]
    for time in range(n_times):
        arrivals += [(root, (time, key), 1 + time) for root in (0, 1) for key in (5, 6)]
    return arrivals


@pytest.mark.parametrize(("gc_arrivals", "n_times"), [(1, 50), (0, 100)])
def test_a_tuple_may_be_let_go_and_come_back_any_number_of_times_in_a_batch(
    monkeypatch: pytest.MonkeyPatch, gc_arrivals: int, n_times: int
) -> None:
    guarded = Guarded(monkeypatch)
    constraints = tuple(ConstraintTuning(id, declared=0) for id in CLUSTERED)
    tuning = KMonTuning(constraints, gc_arrivals=gc_arrivals)
    joining = Joining(GRAPHS["two roots"], [UNBOUNDED] * 3, tuning)
    joining.run(clustered_again(n_times), n_times + 9)
    assert guarded.overrun() == []
    expected = {
        (a, key, b, key, key, 0) for a in range(n_times) for b in range(n_times) for key in (5, 6)
    }
    assert set(joining.emitted) == expected
    assert joining.emitted.total() == len(expected)
