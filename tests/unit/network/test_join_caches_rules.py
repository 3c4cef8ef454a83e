"""Each rule of caches by a small example that goes wrong without it (cards 9, 11, 13.4, 14)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from storage.vocabulary.memory import PAGE_BYTES
from tests.oracles.network_windows import bag_at
from tests.unit.network.elements import Fields, fields
from tests.unit.network.tuned_joins import TunedRun

ONE, TWO = fields("bigint"), fields("bigint", "bigint")
#: R1.A = R2.A, R2.B = R3.B; pipelines of the card: R1: R2, R3; R2: R3, R1; R3: R2, R1.
PATH = JoinOp((((0, 0), (1, 0)), ((1, 1), (2, 0))), None, ((1, 2), (2, 0), (1, 0)))
OF_R1 = CacheSpec("1,2|0", (1, 2), (0,), (Segment(0, 0, 1),), PAGE_BYTES)
KEYED = replace(OF_R1, id="keyed", witnesses=(0,), keyed=True)
COUNTED = replace(OF_R1, id="counted", witnesses=(0,))


def joined(work: JoinOp, *inputs: Fields, fifo: bool = True) -> NetworkPlan:
    """A join of streams with these fields."""
    sources = [
        PlannedOperator(f"s{k}", StreamInput("S", ()), (), of, fifo) for k, of in enumerate(inputs)
    ]
    whole = tuple(field for of in inputs for field in of)
    return NetworkPlan((*sources, PlannedOperator("j", work, tuple(s.id for s in sources), whole)))


def path(*caches: CacheSpec, fifo: bool = True) -> TunedRun:
    """R1(A), R2(A, B), R3(B) with caches."""
    return TunedRun(joined(PATH, ONE, TWO, ONE, fifo=fifo), JoinTuning(caches=caches))


def counts(run: TunedRun, spec: CacheSpec) -> tuple[int, int, int]:
    """Look-ups, hits, entries made."""
    found = run.profile.caches[spec.id]
    return found.probes, found.hits, found.creates


# ------------------------------------------------------------------ card 9


def test_a_cache_takes_in_what_its_segment_gains_and_loses() -> None:
    run = path(OF_R1)
    run.one(1, (1, 2))
    run.one(2, (2,))
    run.one(0, (1,))
    run.one(1, (1, 2))
    assert len(run.one(0, (1,))) == 2
    run.one(1, (1, 2), sign=-1)
    assert len(run.one(0, (1,))) == 1
    assert counts(run, OF_R1) == (3, 2, 1)
    run.check()


def test_a_key_that_is_not_there_ignores_what_comes_and_goes() -> None:
    run = path(OF_R1)
    run.one(2, (2,))
    run.one(1, (7, 2))
    assert run.entries(OF_R1) == {}
    assert run.one(0, (7,)) == [((7, 7, 2, 2), 0, 1)]


def test_that_there_is_nothing_is_cached_too() -> None:
    run = path(OF_R1)
    run.one(0, (1,))
    assert run.entries(OF_R1) == {(1,): {}}
    run.one(0, (1,))
    assert counts(run, OF_R1) == (2, 1, 1)
    run.one(2, (2,))
    run.one(1, (1, 2))
    assert run.one(0, (1,)) == [((1, 1, 2, 2), 0, 1)]


def test_an_entry_that_becomes_empty_stays() -> None:
    run = path(OF_R1)
    run.one(1, (1, 2))
    run.one(2, (2,))
    run.one(0, (1,))
    run.one(2, (2,), sign=-1)
    assert run.entries(OF_R1) == {(1,): {}}


def test_of_two_equal_keys_of_an_element_the_second_hits() -> None:
    """R4(A) joins R1(A), of which two tuples are alike, then the segment R2, R3."""
    work = JoinOp(
        (((0, 0), (1, 0), (3, 0)), ((1, 1), (2, 0))),
        None,
        ((1, 2, 3), (2, 0, 3), (1, 0, 3), (0, 1, 2)),
    )
    spec = CacheSpec("c", (1, 2), (0,), (Segment(0, 0, 1), Segment(3, 1, 2)), PAGE_BYTES)
    run = TunedRun(joined(work, ONE, TWO, ONE, ONE), JoinTuning(caches=(spec,)))
    for port, row in ((0, (1,)), (0, (1,)), (1, (1, 2)), (2, (2,))):
        run.one(port, row)
    run.retune(JoinTuning(caches=(replace(spec, readers=spec.readers[1:]),)))
    run.retune(JoinTuning())
    run.retune(JoinTuning(caches=(spec,)))
    assert len(run.one(3, (1,))) == 2
    assert counts(run, spec) == (2, 1, 1)
    assert len(run.one(0, (1,))) == 1  # the other pipeline reads what this one made
    assert counts(run, spec) == (3, 2, 1)


def test_profiled_elements_pass_look_ups_by_but_not_updates() -> None:
    run = path(OF_R1)
    run.one(1, (1, 2))
    run.one(2, (2,))
    run.one(0, (1,))
    run.retune(replace(run.tuning, profile_prob=(1.0, 1.0, 1.0)))
    run.one(1, (1, 2))
    assert len(run.one(0, (1,))) == 2
    assert counts(run, OF_R1) == (0, 0, 0)
    assert len(run.entries(OF_R1)[(1,)]) == 2
    assert run.profile.pipelines[0].entering.tolist() == [[1, 2, 2]]


def test_a_cache_that_went_begins_empty() -> None:
    run = path(OF_R1)
    run.one(1, (1, 2))
    run.one(2, (2,))
    run.one(0, (1,))
    run.retune(JoinTuning())
    run.one(1, (1, 2))
    run.retune(JoinTuning(caches=(OF_R1,)))
    assert run.entries(OF_R1) == {}
    assert len(run.one(0, (1,))) == 2


@pytest.mark.parametrize("then", [KEYED, COUNTED])
def test_entries_are_not_taken_for_those_of_another_kind(then: CacheSpec) -> None:
    run = path(OF_R1)
    run.one(0, (1,))
    then = replace(then, id=OF_R1.id)
    run.retune(JoinTuning(caches=(then,)))
    assert run.entries(then) == {}


def test_another_key_takes_the_place_where_sets_hold_one() -> None:
    run = path(OF_R1)
    for key in range(400):
        run.one(0, (key,))
    run.check()
    found = run.profile.caches[OF_R1.id]
    assert found.n_entries == found.creates - found.evictions
    assert 0 < found.n_bytes <= PAGE_BYTES


def test_more_ways_keep_what_was_used_last() -> None:
    """All keys of a cache of one set: the one that is not used again goes."""
    spec = replace(OF_R1, ways=100)
    run = path(spec)
    for key in (*range(60), 0):
        run.one(0, (key,))
    n = run.profile.caches[spec.id].n_entries
    for key in range(1000, 1000 + n - 1):
        run.one(0, (key,))
        run.one(0, (0,))
    assert run.profile.caches[spec.id].evictions > 0
    assert counts(run, spec) == (61 + 2 * (n - 1), n, 60 + n - 1)  # key 0 always hits
    run.check()


def test_an_entry_too_large_is_not_admitted() -> None:
    run = path(OF_R1)
    run.one(2, (2,))
    for _ in range(60):
        run.one(1, (1, 2))
    assert len(run.one(0, (1,))) == 60
    assert run.entries(OF_R1) == {}
    assert len(run.one(0, (1,))) == 60
    assert counts(run, OF_R1) == (2, 0, 0)


def test_an_entry_that_grows_too_large_goes() -> None:
    run = path(OF_R1)
    run.one(2, (2,))
    run.one(0, (1,))
    for _ in range(60):
        run.one(1, (1, 2))
    assert run.entries(OF_R1) == {}
    assert run.profile.caches[OF_R1.id].evictions == 1
    assert len(run.one(0, (1,))) == 60


def test_a_cache_without_a_page_is_passed_by() -> None:
    run = path(replace(OF_R1, n_bytes=0))
    run.one(1, (1, 2))
    run.one(2, (2,))
    assert len(run.one(0, (1,))) == len(run.one(0, (1,))) == 1
    assert counts(run, OF_R1) == (2, 0, 0)


def test_a_smaller_budget_frees_at_once_and_a_larger_keeps_all() -> None:
    large = replace(OF_R1, n_bytes=4 * PAGE_BYTES)
    run = path(large)
    run.one(2, (2,))
    for key in range(100):
        run.one(1, (key, 2))
        run.one(0, (key,))
    n_entries = len(run.entries(large))
    run.retune(JoinTuning(caches=(replace(large, n_bytes=8 * PAGE_BYTES),)))
    run.check()
    assert len(run.entries(run.tuning.caches[0])) >= 0.9 * n_entries
    run.retune(JoinTuning(caches=(OF_R1,)))
    run.check()
    assert 0 < len(run.entries(OF_R1)) < n_entries
    scope = run.regions.scope("j").scope("caches").scope(f"of {OF_R1.id}")
    assert scope.array("cells", "int64", 0).nbytes <= PAGE_BYTES


def test_tuples_of_a_bag_keep_their_places_in_caches_when_they_move() -> None:
    run = path(OF_R1, fifo=False)
    run.one(2, (2,))
    for row in ((7, 7), (8, 8), (1, 2)):
        run.one(1, row)
    run.one(0, (1,))
    assert run.entries(OF_R1) == {(1,): {(2, 0): 1}}
    run.one(1, (8, 8), sign=-1)
    for k in range(50):
        run.one(1, (5, k))
        run.one(1, (5, k), sign=-1)
        run.one(2, (9,))
        run.one(2, (9,), sign=-1)
    run.check()
    assert run.entries(OF_R1) == {(1,): {(1, 0): 1}}
    assert run.one(0, (1,)) == [((1, 1, 2, 2), 0, 1)]
    assert counts(run, OF_R1) == (2, 1, 1)


def test_a_hit_gives_its_classes_to_the_steps_behind() -> None:
    """R1(A), R2(A, B), R3(B, C), R4(C): behind the segment R2, R3 the value of C is needed."""
    work = JoinOp(
        (((0, 0), (1, 0)), ((1, 1), (2, 0)), ((2, 1), (3, 0))),
        None,
        ((1, 2, 3), (2, 0, 3), (1, 0, 3), (2, 1, 0)),
    )
    spec = replace(OF_R1)
    run = TunedRun(joined(work, ONE, TWO, TWO, ONE), JoinTuning(caches=(spec,)))
    for port, row in ((1, (1, 2)), (2, (2, 7)), (2, (2, 8)), (3, (7,)), (3, (8,))):
        run.one(port, row)
    first = Counter(run.one(0, (1,)))
    assert len(first) == 2
    assert Counter(run.one(0, (1,))) == first
    assert counts(run, spec) == (2, 1, 1)


def test_results_without_end_go_on_where_there_was_no_room() -> None:
    run = path(OF_R1)
    run.one(2, (2,))
    for _ in range(20):
        run.one(1, (1, 2))
    many = [((1,), 1, 1) for _ in range(7)]
    run.run([many, [((1, 2), 1, 1)], []], 2)
    assert bag_at(run.out, 2).total() == 7 * 21
    run.check()


# ------------------------------------------------------------------ orders (13.4)


def test_a_permutation_within_the_prefix_keeps_the_entries() -> None:
    work = JoinOp((((0, 0), (1, 0), (2, 0), (3, 0)),), None, ())
    orders = ((1, 2, 3), (2, 3, 0), (1, 3, 0), (1, 2, 0))
    spec = CacheSpec("c", (1, 2, 3), (0,), (Segment(0, 0, 2),), PAGE_BYTES)
    run = TunedRun(joined(work, ONE, ONE, ONE, ONE), JoinTuning(orders, (spec,)))
    for port in (1, 2, 3, 0):
        run.one(port, (1,))
    run.retune(JoinTuning(((1, 2, 3), (3, 2, 0), (3, 1, 0), (2, 1, 0)), (spec,)))
    assert run.entries(spec) == {(1,): {(0, 0, 0): 1}}
    run.one(1, (1,))
    run.check()
    assert len(run.one(0, (1,))) == 2


def test_a_cache_whose_windows_are_joined_otherwise_is_refused_and_begins_empty() -> None:
    run = path(OF_R1)
    run.one(1, (1, 2))
    run.one(2, (2,))
    run.one(0, (1,))
    others = ((1, 2), (0, 2), (1, 0))
    with pytest.raises(ValueError, match="the pipeline of input 1 does not begin with"):
        run.retune(JoinTuning(others, (OF_R1,)))
    run.retune(JoinTuning(others))
    run.one(1, (1, 2))
    run.retune(JoinTuning(PATH.orders, (OF_R1,)))
    assert len(run.one(0, (1,))) == 2


# ------------------------------------------------------------------ card 11


def test_an_entry_without_witnesses_goes_when_they_may_be_of_the_reader() -> None:
    """Card 11 A: R+ R- R+ with a change in between."""
    for spec in (COUNTED, KEYED):
        run = path(spec)
        run.one(1, (1, 2))
        run.one(2, (2,))
        run.one(0, (1,))
        assert run.entries(spec) == {(1,): {(0, 0): 1}}
        run.one(0, (1,), sign=-1)
        assert run.entries(spec) == {}
        run.one(1, (1, 2))
        assert len(run.one(0, (1,))) == 2, spec.id


def test_a_tuple_stays_while_one_of_its_witnesses_does() -> None:
    """Card 11 B."""
    for spec in (COUNTED, KEYED):
        run = path(spec)
        run.one(1, (1, 2))
        run.one(2, (2,))
        run.one(0, (1,))
        run.one(0, (1,))
        assert list(run.entries(spec)[(1,)]) == [(0, 0)]
        run.one(0, (1,), sign=-1)
        run.check()
        assert list(run.entries(spec)[(1,)]) == [(0, 0)]
        assert run.profile.caches[spec.id].hits == 2


def test_the_element_that_makes_an_entry_is_a_witness_itself() -> None:
    run = path(COUNTED)
    run.one(1, (1, 2))
    run.one(2, (2,))
    run.one(0, (1,))
    assert run.entries(COUNTED) == {(1,): {(0, 0): 1}}
    run.one(0, (1,))
    assert run.entries(COUNTED) == {(1,): {(0, 0): 2}}


def test_tuples_without_a_witness_are_not_made_part_of_an_entry() -> None:
    """R1's cache of R2 with witnesses in R3 and R1: only what joins with R3 is in it."""
    spec = CacheSpec("c", (1,), (0,), (Segment(0, 0, 0),), PAGE_BYTES, (0, 2))
    run = path(spec)
    run.one(1, (1, 2))
    run.one(1, (1, 3))
    run.one(2, (3,))
    run.one(0, (1,))
    assert run.entries(spec) == {(1,): {(1,): 1}}
    run.one(2, (2,))
    assert run.entries(spec) == {(1,): {(1,): 1, (0,): 1}}
    assert len(run.one(0, (1,))) == 2
    run.check()


def test_an_entry_is_not_changed_by_the_element_that_makes_it() -> None:
    """R1(A) leaves, joined with three tuples of R2(A), then with R3(A, C), then R4(C). The first
    makes an entry whose witnesses are not counted yet; the second must not take any away, or the
    third finds less."""
    work = JoinOp(
        (((0, 0), (1, 0), (2, 0)), ((2, 1), (3, 0))),
        None,
        ((1, 2, 3), (0, 2, 3), (0, 1, 3), (2, 1, 0)),
    )
    spec = CacheSpec("c", (2,), (0,), (Segment(0, 1, 1),), PAGE_BYTES, (0, 1, 3))
    run = TunedRun(joined(work, ONE, ONE, TWO, ONE))
    for port, row in ((1, (1,)), (1, (1,)), (1, (1,)), (2, (1, 7)), (2, (1, 8)), (3, (7,))):
        run.one(port, row)
    run.one(0, (1,))
    run.one(0, (1,))
    run.retune(JoinTuning(caches=(spec,)))
    assert len(run.one(0, (1,), sign=-1)) == 3
    assert run.entries(spec) == {(1,): {(0,): 3}}


def test_a_keyed_entry_counts_each_tuple_once() -> None:
    run = path(KEYED)
    run.one(2, (2,))
    run.one(0, (1,))
    run.one(0, (1,))
    run.one(1, (1, 2))  # two witnesses, one tuple
    assert run.entries(KEYED) == {(1,): {(0, 0): 1}}
    run.one(1, (1, 2), sign=-1)
    assert run.entries(KEYED) == {(1,): {}}
