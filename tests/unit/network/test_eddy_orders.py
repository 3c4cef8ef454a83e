"""Conditions by order as search conditions of eddies: ranges of codes, and what they leave out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql.nodes import NOWHERE, At, Compare, Node
from backend.cql.types import all_hold
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.eddy import bit_index, code_kernel
from backend.operators.network.eddy.bit_index import bit_index_bytes
from backend.operators.network.eddy.tuning import EddyTuning, StateTuning
from backend.operators.network.eddy.words import AGREED, CODES_READ, IN_RANGE, N_CUT
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.operators.network.kinds.eddy import EddyOp
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.stores import stores
from storage.vocabulary.amri_configurations import even_split
from storage.vocabulary.amri_costs import ORDERED_BITS
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import Row, bag_at
from tests.unit.network.elements import fields, stream
from tests.unit.network.join_cases import Case, joins
from tests.unit.network.ordered_joins import (
    HOLDS,
    WIDTH,
    by_order,
    compared,
    holds,
    numbers,
    star,
    with_residual,
)
from tests.unit.network.routed_eddies import Routed, drawn_tuning, eddies, terms_of
from tests.unit.network.test_joins import Joined


@pytest.fixture(autouse=True, scope="module")
def _tiny_stores() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        patch.setattr(bit_index, "_FIRST_ROOM", 3)
        yield


@settings(max_examples=300)
@given(joins(), st.integers(0, 1 << 30))
def test_results_are_those_of_all_combinations_whatever_it_is_tuned_to(
    case: Case, seed: int
) -> None:
    rng, plan = random.Random(seed), eddies(case.plan)
    conditions = by_order(plan, rng)
    plan = with_residual(plan, conditions)
    routed, before = Routed(plan), 0
    for until in case.cuts:
        if rng.random() < 0.8:
            routed.retune(drawn_tuning(rng, plan))
        parts = [[e for e in of if before <= e[1] < until] for of in case.elements]
        routed.run(parts, until)
        for tick in range(before, until):
            bags = [bag_at(history, tick) for history in case.elements]
            expected = join_at(case.work, bags, lambda row: holds(conditions, row))
            assert bag_at(routed.out, tick) == expected, tick
        before = until


@pytest.mark.parametrize("seed", range(8))
def test_every_range_is_a_filter_of_the_whole_state(seed: int) -> None:
    """In sealed partitions and in the open one, of attributes before and behind wild cards, with
    values that rise, ties, NULL and numbers of either sign."""
    rng = random.Random(seed)
    pairs = [(1, WIDTH + 1), (2, WIDTH + 2), (3, WIDTH + 3), (2 * WIDTH + 1, 1)]
    pairs += [(2 * WIDTH + 2, WIDTH + 2), (2 * WIDTH + 3, 3), (2, 2 * WIDTH)]
    conditions = [compared(rng.choice([*HOLDS]), *pair) for pair in rng.sample(pairs, 3)]
    plan = star(EddyOp, 3, conditions)
    routed, plain = Routed(plan), Joined(star(JoinOp, 3, conditions))
    histories = [numbers(rng, 300, 90) for _ in range(3)]
    n_read = 0
    for first in range(0, 300, 30):
        states = tuple(
            replace(
                state,
                bits=tuple(rng.choice([0, 1, 2, 3, 8, 11]) for _ in terms_jas(plan, port)),
                partition=30 if seed % 2 else 70,
            )
            for port, state in enumerate(drawn_tuning(rng, plan).states)
        )
        routed.retune(replace(drawn_tuning(rng, plan), states=states))
        parts = [[e for e in of if first <= e[1] < first + 30] for of in histories]
        routed.run(parts, first + 30)
        plain.run(parts, first + 30)
        assert Counter(routed.out) == Counter(plain.out)
        n_read += int(routed.operator.profile().requests[:, :, CODES_READ].sum())
    assert len(plain.out) > 100
    assert n_read > 500


def terms_jas(plan: NetworkPlan, port: int) -> list[int]:
    """The join attributes of an input of its last operator."""
    terms = terms_of(plan)
    return [group for group, members in enumerate(terms.equal) if port in dict(members)]


PAIR = compared("<", 2, WIDTH + 2)
BOTH = 0b11


def paired(states: StateTuning, values: Sequence[int], keys: Sequence[int] = (7,)) -> Routed:
    """Two streams; the second one has tuples with these values, and those of its first join
    attributes."""
    plan = star(EddyOp, 2, [PAIR])
    routed = Routed(plan)
    routed.retune(EddyTuning(states=(StateTuning(None), states)))
    rows = [(keys[i % len(keys)], None, value, 0.0) for i, value in enumerate(values)]
    routed.run([[], [(row, 0, 1) for row in rows]], 1)
    return routed


def asked(routed: Routed, value: int | None) -> list[int]:
    """Requests, matches and tuples compared of an element of the first stream."""
    before = routed.operator.profile().requests[1, BOTH].copy()
    routed.run([[((7, None, value, 0.0), 1, 1)], []], 2)
    after = routed.operator.profile().requests[1]
    assert after.sum() == after[BOTH].sum()
    return [int(after[BOTH, k] - before[k]) for k in (PROBES, MATCHES, SCANNED)]


@pytest.mark.parametrize(
    ("bits", "value", "n"),
    [
        ((0, 2), 191, 129),  # of four codes two, and the tuple of the open partition
        ((0, 2), 192, 65),
        ((0, 2), 255, 65),
        ((0, 8), 191, 66),
        ((0, 11), 191, 66),
        ((3, 2), 191, 129),
        ((0, 0), 191, 257),
    ],
)
def test_a_request_compares_the_codes_from_its_own_on(
    bits: tuple[int, int], value: int, n: int
) -> None:
    """Of 256 values, as many in each code, and one more that no code of a partition is for yet."""
    shuffled = random.Random(1).sample(range(256), 256)
    routed = paired(StateTuning(bits, partition=256), [*shuffled, 999])
    assert asked(routed, value) == [1, 256 - value, n]


def test_values_that_rise_have_codes_of_their_partition() -> None:
    """Those of the partition before would put all of them into the last code."""
    routed = paired(StateTuning((0, 4), partition=64), [*range(257)])
    assert asked(routed, 250) == [1, 6, 3 * 4 + 8 + 1]


def test_the_open_partition_has_the_cuts_of_the_one_before() -> None:
    values = [*range(64), *range(0, 64, 2)]
    routed = paired(StateTuning((0, 4), partition=64), values)
    assert asked(routed, 55) == [1, 8 + 4, 12 + 6]


def test_nan_is_below_and_above_nothing() -> None:
    nan, plan = float("nan"), star(EddyOp, 2, [compared("<=", 3, WIDTH + 3)])
    for bits in ((0, 0), (0, 3)):
        routed = Routed(plan)
        routed.retune(EddyTuning(states=(StateTuning(bits, partition=16),) * 2))
        values = [*(k - 20.0 for k in range(40)), nan, float("inf"), nan]
        routed.run([[], [((7, None, 0, value), 0, 1) for value in values]], 1)
        routed.run([[((7, None, 0, value), 1, 1) for value in (nan, 9.0)], []], 2)
        assert sorted(row[2 * WIDTH - 1] for row, _, _ in routed.out) == [
            *values[29:40],
            values[41],
        ]


def test_an_element_with_null_asks_for_nothing() -> None:
    routed = paired(StateTuning((0, 4), partition=64), [*range(64)])
    assert asked(routed, None) == [0, 0, 0]


def test_of_a_hash_index_attributes_by_value_alone_count() -> None:
    """Access pattern <k,x>: an index on both is one on k; there is none on x."""
    for bits in (None, (1, 3)):
        keys, values = [7, 8, 9, 10], [*range(64)]
        of_both = paired(StateTuning(bits, (BOTH,), 64), values, keys)
        assert asked(of_both, 40) == [1, 5, 16]
        of_x = paired(StateTuning(None, (0b01,), 64), values, keys)
        assert asked(of_x, 40) == [1, 5, 64]


def test_an_attribute_asked_for_by_order_alone_is_not_looked_up_by_its_value() -> None:
    """s1.x is equal to s0.x and above s2.x: of an index on (k, x) requests of s2 know k alone."""
    rng = random.Random(2)
    conditions = [compared("<", 2 * WIDTH + 2, WIDTH + 2)]
    more = (((0, 2), (1, 2)),)
    plans = [star(kind, 3, conditions, more) for kind in (EddyOp, JoinOp)]
    assert terms_of(plans[0]).hashed(1) == BOTH
    routed, plain = Routed(plans[0]), Joined(plans[1])
    routes = ((1, 2),), ((0, 2),), ((1, 0),)
    for bits in (None, (0, 2)):
        hashed = StateTuning(bits, (BOTH, 0b10), 30, serves=((BOTH, BOTH),))
        routed.retune(EddyTuning(routes, states=(hashed, hashed, StateTuning(None))))
        first = 0 if bits is None else 100
        parts = [
            [((rng.randrange(3), None, rng.randrange(20), 0.0), first + k, 1) for k in range(60)]
            for _ in range(3)
        ]
        routed.run(parts, first + 60)
        plain.run(parts, first + 60)
        assert Counter(routed.out) == Counter(plain.out)
    assert len(plain.out) > 1000


@pytest.mark.parametrize("n_bits", [1, 3, 8])
def test_as_many_tuples_have_each_code_and_equal_values_the_same(n_bits: int) -> None:
    rng = random.Random(n_bits)
    for values in (rng.sample(range(1000), 256), [rng.randrange(40) for _ in range(256)]):
        routed = paired(StateTuning((0, n_bits), partition=256), [*values, 0])
        regions = dict(routed.regions.scope("j").scope("bits 1").arrays())
        codes, seqs = (regions[f"j/bits 1/{name}"][:256] for name in ("codes", "numbers"))
        held = {int(seq): int(code) for seq, code in zip(seqs, codes, strict=True)}
        coded = sorted((value, held[seq]) for seq, value in enumerate(values))
        assert [code for _, code in coded] == sorted(held.values())
        assert len({value for value, _ in coded}) == len({*coded})
        if len({*values}) == 256:
            assert set(Counter(held.values()).values()) == {256 >> n_bits}


@pytest.mark.parametrize("every", [1, 7, 64, 200])
def test_cuts_do_not_depend_on_batches(every: int) -> None:
    rng = random.Random(5)
    values = [rng.randrange(500) for _ in range(400)]
    learnt = []
    for step in (every, 400):
        routed = Routed(star(EddyOp, 2, [PAIR]))
        states = (StateTuning(None), StateTuning((0, 3), partition=64))
        routed.retune(EddyTuning(states=states))
        for first in range(0, 400, step):
            some = enumerate(values[first : first + step], first)
            routed.run([[], [((7, None, value, 0.0), tick, 1) for tick, value in some]], 400)
        regions = dict(routed.regions.scope("j").scope("bits 1").arrays())
        cuts = regions["j/bits 1/cuts"].reshape(-1, N_CUT)
        learnt.append([cuts[number % len(cuts)].tolist() for number in range(3, 7)])
    assert learnt[0] == learnt[1]
    assert learnt[0][3] == learnt[0][2]


@given(
    st.lists(st.floats(allow_nan=False, width=64).map(lambda x: x + 0.0), min_size=2, max_size=30)
)
def test_codes_rise_with_floating_point_numbers(values: list[float]) -> None:
    words = [
        int(code_kernel.order_word(np.int64(np.float64(v).view(np.int64)), np.int64(1)))
        for v in values
    ]
    assert [values[k] for k in np.argsort(words, kind="stable")] == sorted(values)
    cuts = np.sort(np.resize(np.array(words), N_CUT))
    for word in words:
        rank = int(code_kernel.rank(cuts, np.int64(word)))
        assert rank == sum(cut <= word for cut in cuts.tolist())
        codes = [int(code_kernel.ordered_code(rank, b)) for b in range(1, ORDERED_BITS + 1)]
        assert codes == [rank >> (ORDERED_BITS - b) for b in range(1, ORDERED_BITS + 1)]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_words_are_sorted_in_their_place(words: list[int]) -> None:
    array = np.array(words, np.int64)
    code_kernel.sort_words(array, len(words))
    assert array.tolist() == sorted(words)


def test_conditions_that_no_index_can_serve_are_left_to_the_end() -> None:
    """Of strings, of a class that is held in two ways, within a class, beyond eight attributes."""
    of = fields("bigint", "double", "string", *["bigint"] * 7)
    sources = [stream(f"s{k}", of) for k in range(2)]

    def conditions_of(equal: tuple[tuple[tuple[int, int], ...], ...], *nodes: Node) -> int:
        work = EddyOp(equal, all_hold(nodes))
        join = PlannedOperator("j", work, ("s0", "s1"), of * 2)
        return len(terms_of(NetworkPlan((*sources, join))).conditions)

    def less(left: int, right: int) -> Compare:
        sides = (At(NOWHERE, place, of[place % len(of)].type) for place in (left, right))
        return Compare(NOWHERE, "<", next(sides), next(sides))

    n = len(of)
    assert conditions_of((), less(0, n), less(1, n + 1)) == 2
    assert conditions_of((), less(2, n + 2)) == 0
    assert conditions_of(((((0, 0), (1, 1))),), less(0, n)) == 0
    assert conditions_of((((0, 0), (1, 0)),), less(0, n)) == 0
    assert conditions_of((), less(0, 3)) == 0
    many = tuple(((0, place), (1, place)) for place in (0, *range(3, 9)))
    assert conditions_of(many, less(1, n + 1), less(9, n + 9)) == 1


def test_an_even_split_leaves_out_what_is_asked_for_by_order() -> None:
    assert even_split(3, 7) == (3, 2, 2)
    assert even_split(3, 7, 0b010) == (4, 0, 3)
    assert even_split(2, 3, 0b11) == (2, 1)


def test_an_index_takes_the_bytes_that_are_said_of_it() -> None:
    routed = paired(StateTuning((0, 4), partition=64), [*range(300)])
    report = routed.operator.profile().states[1]
    assert report.index_bytes == bit_index_bytes(report.span, 64, 2, 1)
    assert bit_index_bytes(300, 64, 2, 1) > bit_index_bytes(300, 64, 2)


def counted(rows: Sequence[Row], asked: Row, bounds: Sequence[tuple[int, str, int]]) -> list[int]:
    """Of the tuples with the key of a request how many there are, and are within each bound: of an
    attribute, compared with one of the request."""
    alike = [row for row in rows if row[0] == asked[0] is not None]
    alike = [row for row in alike if all(row[own] is not None for own, _, _ in bounds)]
    inside = [sum(HOLDS[op](row[own], asked[other]) for row in alike) for own, op, other in bounds]
    return [len(alike), *inside]


@pytest.mark.parametrize(
    "access", [StateTuning(None), StateTuning(None, (0b100,)), StateTuning((3, 0, 0))]
)
def test_what_agrees_and_what_is_in_each_range_is_counted(access: StateTuning) -> None:
    """By scans, by a hash index and by bits of the key alone: of each attribute apart, whether it
    is the other one's range that a tuple is not in."""
    rng, bounds = random.Random(3), [(2, ">=", 2), (3, "<", 3)]
    conditions = [compared("<=", 2, WIDTH + 2), compared(">", 3, WIDTH + 3)]
    routed = Routed(star(EddyOp, 2, conditions))
    routed.retune(EddyTuning(states=(StateTuning(None), access)))
    rows = [row for row, _, _ in numbers(rng, 200, 200)]
    routed.run([[], [(row, 0, 1) for row in rows]], 1)
    asked = [row for row, _, _ in numbers(rng, 50, 50) if row[2] is not None]
    routed.run([[(row, 1, 1) for row in asked], []], 2)
    found = routed.operator.profile().requests[1, 0b111]
    expected = np.sum([counted(rows, row, bounds) for row in asked], axis=0)
    assert found[[AGREED, IN_RANGE + 1, IN_RANGE + 2]].tolist() == expected.tolist()
    assert found[IN_RANGE] == 0 < found[MATCHES] < min(expected[1:])
