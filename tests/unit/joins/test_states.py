"""The life of a candidate: the steps that are drawn, and no others."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from backend.operators.network.joins.join_tuning import Segment
from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.states import CacheState, CacheStates, Cause

#: [B05] Fig. 5.9, with the coming and going of candidates.
DRAWN = {
    (None, "new", "profiled"),
    ("profiled", "selected", "used"),
    ("profiled", "not selected", "unused"),
    ("unused", "re-optimization", "profiled"),
    ("used", "re-optimization", "profiled"),
    ("used", "benefit below cost", "unused"),
    ("profiled", "removed", None),
    ("used", "removed", None),
    ("unused", "removed", None),
}


@pytest.mark.parametrize("before", [None, *get_args(CacheState)])
@pytest.mark.parametrize("cause", get_args(Cause))
def test_steps_are_those_drawn(before: CacheState | None, cause: Cause) -> None:
    states = CacheStates({} if before is None else {"c": before})
    drawn = [after for b, why, after in DRAWN if (b, why) == (before, cause)]
    if not drawn:
        with pytest.raises(ValueError, match="leads nowhere"):
            states.step("c", cause)
        return
    assert states.step("c", cause).after == drawn[0]
    assert states.all().get("c") == drawn[0]


def candidate(*windows: int) -> CacheCandidate:
    return CacheCandidate(windows, (0,), (Segment(9, 0, len(windows) - 1),))


def test_a_used_cache_is_profiled_anew_only_if_an_unused_one_lies_in_it() -> None:
    outer, inner, other = candidate(0, 1, 2), candidate(0, 1), candidate(3, 4)
    kinds: tuple[CacheState, ...] = ("used", "unused", "profiled")
    for first, second, third in product(kinds, repeat=3):
        states = CacheStates({outer.id: first, inner.id: second, other.id: third})
        moved = {step.cache for step in states.reoptimize((outer, inner, other))}
        expected = {
            one.id
            for one, now in ((outer, first), (inner, second), (other, third))
            if now == "unused"
        }
        if first == "used" and second == "unused":
            expected.add(outer.id)
        assert moved == expected
        assert all(states[id] == "profiled" for id in moved)
