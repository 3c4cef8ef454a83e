"""What became of changes of bits and routes, against a twin that has all batches in a list."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.systems.amri.following import EXPLORED, FollowedChanges, SearchedStretch
from backend.systems.amri.mixing import AccessMethods
from backend.systems.amri.routing import Order
from storage.vocabulary.amri_counts import StateCounts
from storage.vocabulary.records import DecisionOutcome
from tests.oracles import amri_following as twin
from tests.systems.running import tuples
from tests.unit.amri.running_eddies import run_of

BITS = [(2, 0), (1, 1), (0, 2)]
OTHER = AccessMethods((3,))
#: Routes of the batch origin.
FIRST: Order = (1, 2)
SECOND: Order = (2, 1)
Taken = dict[Order, list[int]]


@st.composite
def batches_of(draw: st.DrawFn) -> list[twin.Batch]:
    """Of a state: runs of batches under bits that change now and then."""
    number = st.integers(0, 40)
    batches = []
    for bits in draw(st.lists(st.sampled_from(BITS), min_size=2, max_size=4)):
        for _ in range(draw(st.integers(1, 3))):
            rows = draw(
                st.dictionaries(
                    st.integers(1, 3),
                    st.tuples(st.integers(1, 40), number, number, number),
                    max_size=3,
                )
            )
            batches.append(twin.Batch(bits, rows, draw(st.integers(1, 9))))
    return batches


def stretch_of(batch: twin.Batch) -> SearchedStretch:
    counts = StateCounts().plus(0, batch.rows)
    return SearchedStretch(AccessMethods(batch.bits), counts, float(batch.n * batch.stored))


def resumed(changes: FollowedChanges) -> FollowedChanges:
    again = FollowedChanges([AccessMethods(BITS[0]), OTHER])
    again.restore(json.loads(json.dumps(changes.state())))
    return again


@given(batches_of(), st.integers(1, 90), st.data())
def test_a_change_of_bits_is_judged_as_the_twin_does_from_all_batches(
    batches: list[twin.Batch], least: int, data: st.DataObject
) -> None:
    changed = data.draw(st.integers(0, len(batches) - 2))
    new = data.draw(st.sampled_from([*BITS, *[batches[changed + 1].bits] * 3]))
    changes, outcomes = FollowedChanges([AccessMethods(BITS[0]), OTHER]), list[DecisionOutcome]()
    for place, batch in enumerate(batches):
        idle = SearchedStretch(OTHER, StateCounts().plus(0, {1: (5, 5, 5, 5)}), 25.0)
        outcomes += changes.take(place, [stretch_of(batch), idle], [{}, {}])
        if place == changed:
            changes.begin(7, {0: AccessMethods(new), 1: OTHER}, least)
        if data.draw(st.booleans()):
            changes = resumed(changes)
    expected = twin.judged(batches, changed, new, least) if new != batches[changed].bits else None
    if expected is None:
        assert outcomes == []
        return
    (outcome,) = outcomes
    assert (outcome.decision, outcome.batch) == (7, expected.place)
    assert (outcome.n, outcome.n_sample) == (expected.n, expected.n_alike)
    assert outcome.actual_new == pytest.approx(float(expected.cost))
    for own, other in (
        (outcome.sample_new, expected.new),
        (outcome.counterfactual_old, expected.old),
    ):
        assert own == (None if other is None else pytest.approx(float(other)))


def routed(*batches: Taken) -> list[DecisionOutcome]:
    changes, outcomes = FollowedChanges([OTHER]), list[DecisionOutcome]()
    changes.begin_route(3, 0, FIRST, SECOND)
    for place, taken in enumerate(batches):
        outcomes += changes.take(place, [SearchedStretch(OTHER)], [taken])
        again = FollowedChanges([OTHER])
        again.restore(json.loads(json.dumps(changes.state())))
        changes = again
    return outcomes


def test_a_change_of_a_route_is_judged_by_those_that_explore_the_one_before() -> None:
    half = EXPLORED // 2
    batch: Taken = {SECOND: [1000, 1500, 500], FIRST: [half, 3 * half, half]}
    assert routed(batch) == []
    assert routed(batch, batch, batch) == [
        DecisionOutcome(3, 1, 2.0, 2000, 2.0, 4.0, EXPLORED),
    ]


def test_another_change_of_the_route_ends_it_with_what_is_known() -> None:
    last: Taken = {FIRST: [1000, 0, 0], SECOND: [9, 0, 0]}
    assert routed({SECOND: [10, 10, 10]}, last) == [DecisionOutcome(3, 1, 2.0, 10, 2.0, None, 0)]
    assert routed(last) == []


CHANGING: dict[str, object] = {
    **{"selection": "window", "min_gain": 0.0, "prior": 0.0, "migration": "all"},
    **{"exploration": 0.4, "route_hysteresis": 0.0, "index_bits": 4},
}


@pytest.mark.parametrize("knobs", [{}, {"access": "portfolio"}, {"bit_division": "shared"}])
def test_changes_of_an_eddy_at_work_get_their_outcome_once(knobs: dict[str, object]) -> None:
    bench, _ = run_of({**CHANGING, **knobs}, n=1)
    for place in range(40):
        bench.run(tuples(300, place // 5))
    made = {d.seq: d for d in bench.recorded.decisions}
    outcomes = [o for o in bench.recorded.outcomes if made[o.decision].algorithm == "amri"]
    assert len({o.decision for o in outcomes}) == len(outcomes)
    kinds = {made[o.decision].kind for o in outcomes}
    assert "route" in kinds
    assert kinds & {"index bits", "access methods", "bit division"}
    for outcome in outcomes:
        decision = made[outcome.decision]
        assert decision.verdict in ("switched", "acted")
        assert outcome.batch > decision.batch
        assert outcome.actual_new
