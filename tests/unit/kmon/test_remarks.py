"""What people are told of a join under k-constraints, once."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from backend.model.conditions import DeclaredConstraint
from backend.operators.network.kmon.tuning import ConstraintProfile, KMonProfile
from backend.systems.kmon.evidence import Evidence
from backend.systems.kmon.remarks import Remarks
from storage.vocabulary.records import Event
from tests.unit.kmon.cases import PAIR, Bench, Worth, view_of, waiting_world, work_of

RIDS = "RIDS 0 1"


def told(found: Iterable[object]) -> list[tuple[str, str]]:
    return [(one.title, one.detail) for one in found if isinstance(one, Event)]


def of_k(k: int) -> KMonProfile:
    view = view_of(PAIR)
    return KMonProfile(constraints={view.candidates[RIDS].id: ConstraintProfile(k=k)})


def test_a_k_beyond_the_window_lets_nothing_go_and_is_told_once() -> None:
    """Rows 50 000 of S1, which comes as often as S2."""
    bench = Bench(work_of(PAIR), constraints=[DeclaredConstraint("RIDS", 60_000, "S1", "S2")])
    world = waiting_world(RIDS=Worth(k=60_000))
    found = told([*bench.run(world, times=3)])
    assert [words for title, words in found if title == "k is beyond the window"] == [
        "RIDS S1 → S2: k 60 000 takes no less time than a tuple of S1 is in its window of 50 000"
        " tuples; it lets nothing go"
    ]
    again = bench.killed()
    assert "k is beyond the window" not in dict(told(again.run(world)))
    near = Bench(work_of(PAIR), constraints=[DeclaredConstraint("RIDS", 9000, "S1", "S2")])
    assert told(near.run(waiting_world(RIDS=Worth(k=9000)))) == []


@pytest.mark.parametrize(("k", "is_told"), [(24_999, False), (25_000, True), (-1, False)])
def test_it_is_beyond_from_the_size_of_the_window_on(k: int, is_told: bool) -> None:
    """Of S1 come twice as many as of S2, whose arrivals k counts."""
    view = view_of(PAIR)
    seen = Evidence.of(view)
    seen.inputs[0].arrivals, seen.inputs[1].arrivals = 20, 10
    assert bool([*Remarks(view).of(of_k(k), seen, frozenset({RIDS}), ())]) == is_told
    assert not [*Remarks(view).of(of_k(k), seen, frozenset(), ())], "it is not used"


def test_what_was_declared_of_attributes_that_are_not_joined_is_told() -> None:
    bench = Bench(work_of(PAIR), constraints=[DeclaredConstraint("OAP", 3, "S1", "", "B")])
    found = told([*bench.run(waiting_world(), times=2)])
    assert found == [
        (
            "declared in vain",
            "OAP S1.B: of the streams, but the query does not join these attributes",
        )
    ]


def test_a_key_that_is_none_is_told_with_the_tuples_that_say_so() -> None:
    view = view_of(PAIR)
    profile = KMonProfile(n_repeated=4, repeated=("tuple 2 of S2", "tuple 3 of S2"))
    remarks = Remarks(view)
    assert told(remarks.of(profile, Evidence.of(view), frozenset(), ())) == [
        (
            "a key is none",
            "4 tuples came with the key of another one that is there (tuple 2 of S2, tuple 3 of"
            " S2); kept aside, in no result. Declare a key that no two tuples share",
        )
    ]
    assert told(remarks.of(profile, Evidence.of(view), frozenset(), ())) == []
