"""Eddies whose inputs nothing but < <= > >= holds together: nothing can be hashed, all is there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql.nodes import Compare
from backend.operators.network.eddy import bit_index
from backend.operators.network.eddy.tuning import EddyTuning, StateTuning
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.operators.network.kinds.eddy import EddyOp
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.stores import stores
from backend.systems.amri.core import AMRI
from backend.systems.stream.compiling import compile_queries
from tests.oracles.cql_semantics import answer
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import Signed, bag_at
from tests.unit.network.ordered_joins import HOLDS, WIDTH, compared, holds, joined, numbers
from tests.unit.network.query_runs import run_plan
from tests.unit.network.query_texts import SECOND, STREAMS, inputs, parsed
from tests.unit.network.routed_eddies import Routed, drawn_tuning, terms_of
from tests.unit.network.test_joins import Joined


@pytest.fixture(autouse=True, scope="module")
def _tiny_stores() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        patch.setattr(bit_index, "_FIRST_ROOM", 3)
        yield


def web(rng: random.Random, n: int) -> list[Compare]:
    """Conditions that hold n streams together, and up to two more, which may close cycles."""
    pairs = [(rng.randrange(k), k) for k in range(1, n)]
    pairs += [
        (pair[0], pair[1]) for _ in range(rng.randint(0, 2)) for pair in [rng.sample(range(n), 2)]
    ]
    conditions = []
    for one, other in pairs:
        column = rng.randrange(1, WIDTH)
        ends = WIDTH * one + column, WIDTH * other + column
        conditions.append(compared(rng.choice([*HOLDS]), *ends))
    return conditions


def histories(rng: random.Random, n: int) -> list[list[Signed]]:
    """Few tuples, for all of them go together; of some streams none, of others in another order of
    leaving."""
    every = []
    for _ in range(n):
        elements = numbers(rng, rng.choice([0, 12, 12, 24]), rng.choice([2, 5, 9]))
        every.append([] if rng.random() < 0.1 else elements)
    return every


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 4), st.integers(0, 1 << 30))
def test_results_are_all_combinations_in_order_whatever_it_is_tuned_to(n: int, seed: int) -> None:
    rng = random.Random(seed)
    conditions = web(rng, n)
    plan = joined(EddyOp, n, conditions)
    assert not any(map(terms_of(plan).hashed, range(n)))
    routed, plain = Routed(plan), Joined(joined(JoinOp, n, conditions))
    elements, before = histories(rng, n), 0
    for until in (*sorted(rng.sample(range(1, 25), rng.randint(0, 4))), 25):
        if rng.random() < 0.8:
            routed.retune(drawn_tuning(rng, plan))
        parts = [[e for e in of if before <= e[1] < until] for of in elements]
        begin = len(routed.out)
        routed.run(parts, until)
        assert Counter(routed.out[begin:]) == Counter(plain.run(parts, until))
        for tick in range(before, until):
            bags = [bag_at(of, tick) for of in elements]
            expected = join_at(JoinOp(), bags, lambda row: holds(conditions, row))
            assert bag_at(routed.out, tick) == expected, tick
        before = until


#: Chains, cycles, bands, one class of equal attributes compared with another, an origin that is
#: compared with all.
TEXTS = (
    "Select S.b, T.d From S [Range 3], T [Range 2] Where S.a < T.a",
    "Select S.b, T.d From S [Rows 3], T [Rows 2] Where S.a <= T.a and S.b >= T.d",
    "Select S.b, T.a From S [Range 2], T [Range 3] Where S.a >= T.a and S.b < T.a",
    "Select S.a, U.e From S [Range 2], U [Range 2], T [Rows 2] Where S.a < U.d and U.d <= T.d",
    "Select U.e, V.d From U [Range 3], U [Rows 4] As V Where U.e < V.e",
    "Select S.a, T.a, U.d From S [Range 2], T [Range 2], U [Range 2] "
    "Where S.a < T.a and T.d < U.d and U.d <= S.b",
    "Select S.a, T.a, U.d From S [Range 2], T [Range 2], U [Range 2] "
    "Where S.a = T.a and T.a < U.d and S.c = 'x'",
    "Select S.a, T.a, V.d From S [Rows 2], T [Rows 2], U [Rows 2], U [Now] As V "
    "Where S.a >= T.a and S.b > U.d and V.d > S.a and V.e = U.e",
)


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=15, deadline=None)
@given(inputs(5), st.lists(st.integers(1, 5), max_size=3).map(sorted), st.integers(1, 3))
def test_a_query_answers_what_it_means_and_what_the_plain_join_does(
    text: str, rows: dict[str, Any], cuts: Sequence[int], n_shards: int
) -> None:
    query, heartbeats = parsed(text), (*cuts, 11)
    answers = []
    for kinds in ([AMRI], []):
        plan = compile_queries([query], since={"q": 0}, tick_us=SECOND, kinds=kinds)
        assert bool([*plan.working(EddyOp)]) == bool(kinds)
        answers.append(run_plan(plan, rows, STREAMS, heartbeats, n_shards)["q"])
    assert answers[0] == answers[1] == answer(query.plan, rows, 10)


def test_no_hash_index_serves_an_order_and_codes_do() -> None:
    """Of 64 tuples in four codes an element that a quarter of them is above compares two codes, and
    the tuple of the open partition."""
    rows = [((None, None, k * 7 % 64, 0.0), 0, 1) for k in range(64)]
    for bits, n_compared in ((None, 65), ((2,), 33)):
        routed = Routed(joined(EddyOp, 2, [compared("<", 2, WIDTH + 2)]))
        states = StateTuning(None), StateTuning(bits, (1,), partition=64)
        routed.retune(EddyTuning(states=states))
        routed.run([[], [*rows, ((None, None, 0, 0.0), 0, 1)]], 1)
        routed.run([[((7, None, 47, 0.0), 1, 1)], []], 2)
        asked = routed.operator.profile().requests[1, 1, [PROBES, MATCHES, SCANNED]]
        assert asked.tolist() == [1, 16, n_compared]
        assert not routed.operator._modules
