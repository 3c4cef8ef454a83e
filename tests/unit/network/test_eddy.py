"""The eddy against all combinations of the tuples that are there, whatever it is tuned to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.eddy import bit_index, code_kernel
from backend.operators.network.eddy.tuning import EddyTuning, StateTuning
from backend.operators.network.eddy.words import (
    BUCKETS,
    CODES_READ,
    COMPARED,
    IN_VAIN,
    REQUESTS,
    VISITED,
)
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.operators.network.kinds.eddy import EddyOp
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.stores import stores
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import Signed, bag_at
from tests.unit.network.elements import stream
from tests.unit.network.join_cases import Case, joins
from tests.unit.network.routed_eddies import FOUR, Routed, clique, drawn_tuning, eddies, sliding
from tests.unit.network.test_joins import Joined


@pytest.fixture(autouse=True, scope="module")
def _tiny_stores() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        patch.setattr(bit_index, "_FIRST_ROOM", 3)
        yield


@settings(max_examples=300)
@given(joins(), st.integers(0, 3), st.integers(0, 1 << 30))
def test_results_are_all_combinations_at_every_tick(case: Case, n_early: int, seed: int) -> None:
    plan, rng = eddies(case.plan), random.Random(seed)
    routed, before, taken = Routed(plan), 0, [0] * len(case.elements)
    for until in case.cuts:
        parts = []
        for port, history in enumerate(case.elements):
            end = sum(tau < until for _, tau, _ in history)
            at_once = sum(tau == until for _, tau, _ in history)
            end = max(taken[port], end + min(n_early, at_once))
            parts.append(history[taken[port] : end])
            taken[port] = end
        routed.run(parts, until)
        for tick in range(before, until):
            bags = [bag_at(history, tick) for history in case.elements]
            assert bag_at(routed.out, tick) == join_at(case.work, bags), tick
        if rng.random() < 0.7:
            routed.retune(drawn_tuning(rng, plan))
        before = until


@pytest.mark.parametrize("seed", range(6))
def test_every_search_is_a_filter_of_the_whole_state(seed: int) -> None:
    """Also where wild cards are enumerated, in sealed partitions and in the one that is open."""
    rng = random.Random(seed)
    plan, routed = clique(EddyOp), Routed(clique(EddyOp))
    plain = Joined(clique(JoinOp))
    histories = [sliding(rng, 500, 150, 6 + 2 * seed) for _ in range(4)]
    n_buckets = 0
    for first in range(0, 500, 50):
        parts = [[e for e in one if first <= e[1] < first + 50] for one in histories]
        routed.run(parts, first + 50)
        plain.run(parts, first + 50)
        assert Counter(routed.out) == Counter(plain.out)
        n_buckets += int(routed.operator.profile().requests[:, :, BUCKETS].sum())
        states = tuple(
            StateTuning(
                tuple(rng.choice([0, 1, 2, 3, 8, 14, 21]) for _ in range(3)),
                tuple({rng.randint(1, 7)}) if rng.random() < 0.3 else (),
                40 if seed % 2 else 100,
                tuple(range(20)) if rng.random() < 0.5 else (),
            )
            for _ in range(4)
        )
        routed.retune(replace(drawn_tuning(rng, plan), states=states))
    assert len(plain.out) > 100
    assert n_buckets > 2000


@pytest.mark.parametrize("bits", [(0, 0, 0), (2, 1, 3), (21, 21, 21)])
def test_codes_that_are_read_in_vain_are_told_from_tuples_compared(bits: tuple[int, ...]) -> None:
    rng, routed = random.Random(1), Routed(clique(EddyOp))
    states = (StateTuning(bits, partition=40),) * 4
    routed.retune(EddyTuning(states=states))
    histories = [sliding(rng, 200, 200, 9) for _ in range(4)]
    routed.run(histories, 200)
    profile = routed.operator.profile()
    counts, by_routes = profile.requests, profile.routes.sum(axis=(0, 1))
    by_states = counts.sum(axis=(0, 1))[[PROBES, SCANNED, BUCKETS, CODES_READ]]
    assert by_routes[[REQUESTS, COMPARED, VISITED, IN_VAIN]].tolist() == by_states.tolist()
    compared = counts[:, :, SCANNED] - counts[:, :, CODES_READ]
    assert (compared >= counts[:, :, MATCHES]).all()
    if sum(bits) == 0:
        assert not counts[:, :, CODES_READ].any()
    if sum(bits) == 63:
        assert (compared == counts[:, :, MATCHES]).all()
        assert counts[:, :, CODES_READ].sum() > 10_000


def test_two_attributes_that_are_equal_make_one_key_of_a_hash_index() -> None:
    rng = random.Random(3)
    classes = (((0, 0), (0, 2), (1, 0)), ((0, 1), (2, 0)))
    sources = [stream("s0", FOUR), stream("s1", FOUR[:1]), stream("s2", FOUR[:1])]
    ids = tuple(source.id for source in sources)
    plans = [
        NetworkPlan((*sources, PlannedOperator("j", kind(classes), ids, FOUR + FOUR[:2])))
        for kind in (EddyOp, JoinOp)
    ]
    routed, plain = Routed(plans[0]), Joined(plans[1])
    routes = ((1, 2),), ((0, 2),), ((0, 1),)
    other = StateTuning(None, (0b1,))
    routed.retune(EddyTuning(routes, states=(StateTuning(None, (0b101,)), other, other)))
    for tick in range(40):
        a, b = rng.randrange(3), rng.randrange(3)
        rows: list[tuple[int, ...]] = [(a, b, a), (b,), (a,)]
        parts: list[list[Signed]] = [[(row, tick, 1)] for row in rows]
        routed.run(parts, tick + 1)
        plain.run(parts, tick + 1)
    assert Counter(routed.out) == Counter(plain.out)
    assert len(plain.out) > 50


def test_the_package_state_of_the_paper() -> None:
    """Card A11.1: with 5, 2 and 3 bits codes 00111, 11, 010 are bucket 250."""
    code = np.uint64(0)
    for own, n_bits in ((0b00111, 5), (0b11, 2), (0b010, 3)):
        code = np.uint64(code_kernel.appended(code, np.uint64(own), n_bits))
    assert code == 250


def test_codes_of_fewer_bits_are_prefixes() -> None:
    for value in (0, 1, -5, 1 << 60):
        whole = int(code_kernel.attribute_code(value, 64))
        for n_bits in (1, 2, 17, 63):
            assert int(code_kernel.attribute_code(value, n_bits)) == whole >> (64 - n_bits)


@pytest.mark.parametrize(
    ("bits", "message"),
    [((1, 2), "2 numbers of bits for 3"), ((60, 4, 1), "0 to 64"), ((-1, 4, 1), "0 to 64")],
)
def test_bits_that_do_not_fit_are_refused(bits: tuple[int, ...], message: str) -> None:
    states = (StateTuning(bits), *(StateTuning(None) for _ in range(3)))
    with pytest.raises(ValueError, match=message):
        Routed(clique(EddyOp)).retune(EddyTuning(states=states))
