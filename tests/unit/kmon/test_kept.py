"""Some of the tuples that a join holds, with what they wait for."""

from __future__ import annotations

import pytest

from backend.operators.network.kmon import keeping
from backend.operators.network.kmon.kept import KeptJoin, KeptTuple
from backend.operators.network.kmon.tuning import KMonProfile, KMonTuning
from tests.unit.kmon.joining import GRAPHS, UNBOUNDED, Arrival, Joining


def kept(arrivals: list[Arrival]) -> tuple[KeptTuple, ...]:
    joining = Joining(GRAPHS["b"], (UNBOUNDED,) * 3, KMonTuning())
    joining.run(arrivals, 10_000)
    profile = joining.join.profile()
    assert isinstance(profile, KMonProfile)
    return profile.kept


def test_a_tuple_waits_for_what_is_not_there() -> None:
    """S1.B = S2.B, S2.C = S3.C: the first has its partner, that one has none."""
    first, second = kept([(0, (1, 7), 0), (1, (7, 9), 1)])
    assert (first.input, first.number, first.state, first.tau) == (0, 1, "unknown", 0)
    assert [(one.edge, one.is_parent, one.is_settled) for one in first.joins] == [(0, True, True)]
    assert (second.input, second.number, second.state, second.tau) == (1, 1, "unknown", 1)
    assert [(one.edge, one.is_parent, one.is_settled) for one in second.joins] == [
        (0, False, False),
        (1, True, False),
    ]


def test_of_each_input_and_state_the_oldest_the_newest_and_one_between() -> None:
    found = kept([(0, (n, 100 + n), n) for n in range(9)])
    assert [(one.input, one.number, one.state) for one in found] == [
        (0, 1, "unknown"),
        (0, 5, "unknown"),
        (0, 9, "unknown"),
    ]
    assert all(one.joins == (KeptJoin(0, True, False, one.joins[0].waited),) for one in found)


def test_a_complete_result_is_in_yes() -> None:
    found = kept([(2, (9, 1), 0), (1, (7, 9), 1), (0, (1, 7), 2)])
    assert {(one.input, one.state) for one in found} >= {(1, "yes"), (2, "yes")}


def test_of_many_places_only_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_LOOKED_AT", 8)
    found = kept([(0, (n, 100 + n), n) for n in range(200)])
    assert 1 <= len(found) <= 3
