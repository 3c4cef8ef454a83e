"""Logical filters, prefix sets and candidates: the worked examples, and what always holds."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.joins.join_tuning import Segment
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.candidates import (
    CacheCandidate,
    candidates,
    conflicts,
    is_prefix_set,
    prefix_candidates,
    prefix_sets,
    relaxed_candidates,
    segment_inputs,
)
from backend.systems.joins.decide.selection import outlasting
from backend.systems.joins.decide.shape import JoinShape
from tests.unit.joins.cases import (
    SIX_WAY,
    laminar_orders,
    numbered,
    on_one_attribute,
    orders_of,
    shape_of,
    shapes,
    words,
)


def test_figure_5_3_a_logical_filters_become_a_pipeline() -> None:
    shape = shape_of(6, "12", "13", "34", "35", "56")
    paths = [shape.path(0, end) for end in range(1, 6)]
    assert paths == [(1,), (2,), (2, 3), (2, 4), (2, 4, 5)]
    in_order = [3, 2, 1, 4, 5]  # F3 = R3 R4, F2 = R3, F1 = R2, F4 = R3 R5, F5 = R3 R5 R6
    assert shape.operators(0, in_order) == (2, 3, 1, 4, 5)


def test_an_update_of_a_spoke_of_a_star_joins_with_the_root_first() -> None:
    star = shape_of(4, "12", "13", "14")
    assert star.operators(1, (2, 3, 0)) == (0, 2, 3)
    assert star.operators(0, (2, 3, 1)) == (2, 3, 1)


def test_a_cycle_is_ordered_by_a_spanning_tree() -> None:
    ring = shape_of(4, "12", "23", "34", "41")
    assert [ring.path(0, end) for end in (1, 2, 3)] == [(1,), (1, 2), (3,)]


def test_cartesian_products_stand_last_and_only_where_nothing_is_equal() -> None:
    apart = shape_of(5, "12", "345")
    assert apart.component(0) == {0, 1}
    assert apart.operators(0, (4, 1, 2, 3)) == (1, 4, 2, 3)
    assert apart.path(0, 3) == ()


@given(st.data())
def test_every_operator_joins_with_something_before_it_unless_nothing_is_left(
    data: st.DataObject,
) -> None:
    n = data.draw(st.integers(2, 6))
    shape = data.draw(shapes(n))
    input = data.draw(st.integers(0, n - 1))
    filters = data.draw(st.permutations([j for j in range(n) if j != input]))
    found = shape.operators(input, filters)
    assert sorted(found) == sorted(filters)
    for place, one in enumerate(found):
        before = {input, *found[:place]}
        joined = not before.isdisjoint(shape.neighbours(one))
        connected = {j for i in before for j in shape.component(i)}
        assert joined or connected == before


def test_shapes_refuse_what_is_no_join() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        JoinShape.of(JoinOp(), 1)
    with pytest.raises(ValueError, match=r"name inputs \[3\]"):
        JoinShape.of(JoinOp((((0, 0), (3, 0)),)), 3)
    with pytest.raises(ValueError, match="2 names"):
        JoinShape.of(JoinOp(), 3, ("R", "S"))


def test_example_5_5_1_prefix_sets_and_candidates() -> None:
    assert words(prefix_sets(SIX_WAY)) == ["12", "45", "123", "12345"]
    found = prefix_candidates(on_one_attribute(6), SIX_WAY)
    by_pipeline = [
        sum(reader.pipeline == i for one in found for reader in one.readers) for i in range(6)
    ]
    assert by_pipeline == [1, 1, 2, 2, 1, 3]


def test_example_5_5_2_shared_candidates() -> None:
    found = prefix_candidates(on_one_attribute(6), SIX_WAY)
    readers = {one.id: [reader.pipeline + 1 for reader in one.readers] for one in found}
    assert readers == {
        "0,1|0": [3, 4, 6],
        "3,4|0": [1, 2, 3, 6],
        "0,1,2|0": [4, 5],
        "0,1,2,3,4|0": [6],
    }


def test_segments_of_example_5_4_4() -> None:
    """R1.A = R2.A, R2.B = R3.B: the pair R2, R3 has the invariant, R2, R1 in R3's pipeline has not,
    as R2 joins with R3 first."""
    shape = shape_of(3, "12", "23")
    orders = numbered("23", "31", "21")
    (one,) = prefix_candidates(shape, orders)
    assert (one.windows, one.key, one.readers) == ((1, 2), (0,), (Segment(0, 0, 1),))
    assert not is_prefix_set(frozenset({0, 1}), orders)


def test_example_5_7_1_relaxed_candidate() -> None:
    """R6's pipeline 2,3,4,5,1: {2,3} is no prefix set, {1,2,3} is, so (R2 ⋈ R3) ⋉ R1 may be
    cached."""
    orders = (*SIX_WAY[:5], *numbered("23451"))
    assert not is_prefix_set(frozenset({1, 2}), orders)
    found = [
        one
        for one in relaxed_candidates(on_one_attribute(6), orders)
        if one.windows == (1, 2) and one.readers == (Segment(5, 0, 1),)
    ]
    assert [(one.witnesses, one.keyed) for one in found] == [((0,), False)]
    assert found[0].said(on_one_attribute(6)) == "(R2 ⋈ R3) ⋉ R1"


def test_the_quota_fills_up_with_the_largest_relaxed_candidates() -> None:
    shape, orders = shape_of(3, "12", "23"), numbered("23", "13", "12")
    plain = prefix_candidates(shape, orders)
    assert [one.windows for one in plain] == [(0, 1)]
    found = candidates(shape, orders, quota=6)
    relaxed = [one for one in found if one.witnesses]
    assert found[: len(plain)] == plain
    assert [(one.windows, one.witnesses, one.keyed) for one in relaxed] == [
        ((1, 2), (0,), True),
        ((0, 2), (1,), True),
    ]
    assert candidates(shape, orders, quota=1) == plain
    assert len({one.id for one in found}) == len(found)


def test_a_hit_could_be_incomplete_where_a_witness_joins_with_the_segment_beside_the_key() -> None:
    """Erratum 7 C: the witness R1 also joins with the segment by a class that is not in the key."""
    ring, orders = shape_of(4, "12", "23", "34", "41"), numbered("234", "341", "412", "123")
    found = list(relaxed_candidates(ring, orders))
    for one in found:
        reader = one.readers[0]
        if reader.pipeline in one.witnesses:
            near = ring.component(reader.pipeline, one.witnesses)
            assert set(ring.key(near, one.windows)) <= set(one.key)
    # R1's pipeline 2,3,4 with the segment 3,4: its witnesses R1, R2 join with it by 23 and 41
    assert ((2, 3), (1, 3), (0, 1)) in [(one.windows, one.key, one.witnesses) for one in found]


@given(st.data())
def test_prefix_sets_are_laminar_and_at_most_n_minus_2(data: st.DataObject) -> None:
    n = data.draw(st.integers(3, 7))
    orders = data.draw(laminar_orders(n) if data.draw(st.booleans()) else orders_of(n))
    found = prefix_sets(orders)
    assert len(found) <= n - 2
    for a, b in combinations(found, 2):
        assert a <= b or b <= a or a.isdisjoint(b)
    by_definition = {
        frozenset(some)
        for size in range(2, n)
        for some in combinations(range(n), size)
        if all(set(orders[i][: size - 1]) == set(some) - {i} for i in some)
    }
    assert set(found) == by_definition


@given(st.data())
def test_prefix_candidates_of_a_pipeline_nest_or_are_apart_and_hide_nothing(
    data: st.DataObject,
) -> None:
    n = data.draw(st.integers(3, 6))
    orders = data.draw(laminar_orders(n))
    found = prefix_candidates(data.draw(shapes(n)), orders)
    readers = [(one, reader) for one in found for reader in one.readers]
    for (one, first), (other, second) in combinations(readers, 2):
        assert not one.hides(first, other)
        assert not other.hides(second, one)
        if first.pipeline == second.pipeline:
            a, b = (set(range(r.first, r.last + 1)) for r in (first, second))
            assert a <= b or b <= a or a.isdisjoint(b)


@given(st.data())
def test_candidates_are_told_of_their_deltas_and_hide_none_of_their_own(
    data: st.DataObject,
) -> None:
    n = data.draw(st.integers(3, 5))
    orders = data.draw(orders_of(n))
    found = candidates(data.draw(shapes(n)), orders, quota=20)
    assert len({one.id for one in found}) == len(found)
    for one in found:
        assert is_prefix_set(one.closure, orders)
        assert set(one.witnesses).isdisjoint(one.windows)
        for reader in one.readers:
            assert reader.pipeline not in one.windows
            order = orders[reader.pipeline]
            assert set(order[reader.first : reader.last + 1]) == set(one.windows)
            assert not one.hides(reader, one)


def test_a_segment_over_another_update_point_excludes_that_cache() -> None:
    """Erratum 7 D: R1's pipeline tells the cache of R1 ⋈ R2 after its first step, which a hit of
    the segment R2, R3 would bypass."""
    own = CacheCandidate((0, 1), (0,), (Segment(2, 0, 1),))
    spanning = CacheCandidate((1, 2), (0,), (Segment(0, 0, 1),), witnesses=(0,), keyed=True)
    pairs = [(own, own.readers[0]), (spanning, spanning.readers[0])]
    assert list(conflicts(pairs)) == [(0, 1)]


FOUR_ORDERS = st.tuples(*(st.permutations([j for j in range(4) if j != i]) for i in range(4)))


@given(FOUR_ORDERS, FOUR_ORDERS)
def test_caches_outlast_orders_that_keep_their_prefixes_and_places(
    before: tuple[list[int], ...], after: tuple[list[int], ...]
) -> None:
    """On one attribute; the slow way: prefix set by prefix set, reader by reader."""
    shape = on_one_attribute(4)
    old, new = (tuple(map(tuple, orders)) for orders in (before, after))
    choice = {cache.id: cache.readers for cache in prefix_candidates(shape, old)}
    expected = {}
    for cache in prefix_candidates(shape, old):
        inputs = frozenset(cache.windows)
        kept = tuple(r for r in cache.readers if frozenset(segment_inputs(r, new)) == inputs)
        if kept and is_prefix_set(inputs, new):
            expected[cache.id] = kept
    assert outlasting(choice, prefix_candidates(shape, new)) == expected
    assert outlasting(choice, prefix_candidates(shape, old)) == choice
