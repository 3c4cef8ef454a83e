"""The eddy against all combinations of the tuples that are there, whatever it is tuned to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql.nodes import NOWHERE, At, Compare, Node, Widened
from backend.cql.types import all_hold
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.eddy import bit_index, bit_kernel
from backend.operators.network.eddy.operator import EddyJoin
from backend.operators.network.eddy.tuning import EddyTuning, StateTuning
from backend.operators.network.eddy.words import BUCKETS, CODES_READ
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.operators.network.kinds.eddy import EddyOp, join_attributes
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.stores import stores
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import Signed, bag_at
from tests.unit.network.elements import Fields, block_of, elements_of, fields, stream
from tests.unit.network.join_cases import Case, joins
from tests.unit.network.test_joins import Joined


@pytest.fixture(autouse=True, scope="module")
def _tiny_stores() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        patch.setattr(bit_index, "_FIRST_ROOM", 3)
        yield


def eddies(plan: NetworkPlan) -> NetworkPlan:
    """The same with its join as an eddy."""
    last = plan.operators[-1]
    work = last.doing(JoinOp)
    eddy = EddyOp(work.equal, work.residual, work.orders)
    return replace(plan, operators=(*plan.operators[:-1], replace(last, work=eddy)))


@dataclass
class Routed:
    """An eddy at work in regions of its own."""

    plan: NetworkPlan
    out: list[Signed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.regions = MemoryRegions()
        self.retune(EddyTuning())

    def retune(self, tuning: EddyTuning) -> None:
        """Make it anew around its regions."""
        id = self.plan.operators[-1].id
        strings = Strings(self.regions.scope("strings"))
        around = Surroundings(self.plan, self.regions, strings, Clock(), tunings={id: tuning})
        self.operator = EddyJoin(self.plan.operators[-1], around)

    def run(self, inputs: Sequence[Sequence[Signed]], heartbeat: int) -> None:
        """A batch."""
        of = [self.plan.operator(id).fields for id in self.operator.planned.inputs]
        blocks = [block_of(list(part), one) for part, one in zip(inputs, of, strict=True)]
        self.out += elements_of(self.operator.run(blocks, heartbeat))


def drawn_tuning(rng: random.Random, work: EddyOp, n: int) -> EddyTuning:
    """Any routes, access methods, partitions and migrations."""
    routes = []
    for port in range(n):
        every = list(permutations(k for k in range(n) if k != port))
        rng.shuffle(every)
        routes.append(tuple(every[: rng.randint(1, 3)]))
    states = []
    for port in range(n):
        n_attributes = len(join_attributes(work, port))
        bits = tuple(rng.choice([0, 0, 1, 2, 5, 16]) for _ in range(n_attributes))
        patterns = range(1, 1 << n_attributes)
        modules = tuple(rng.sample(patterns, min(rng.randint(0, 2), len(patterns))))
        serves = [(p, m) for p in patterns for m in modules if p & m == m and rng.random() < 0.5]
        states.append(
            StateTuning(
                bits if rng.random() < 0.8 and n_attributes else None,
                modules,
                rng.choice([1, 2, 3, 4, 4, 4, 7]) if rng.random() < 0.3 else 4,
                tuple(range(20)) if rng.random() < 0.5 else (),
                tuple(serves),
            )
        )
    share = rng.choice([0.0, 0.3, 1.0])
    return EddyTuning(tuple(routes), share, tuple(states), migration_us=1_000_000)


@settings(max_examples=300)
@given(joins(), st.integers(0, 3), st.integers(0, 1 << 30))
def test_results_are_all_combinations_at_every_tick(case: Case, n_early: int, seed: int) -> None:
    plan, rng = eddies(case.plan), random.Random(seed)
    routed, before, taken = Routed(plan), 0, [0] * len(case.elements)
    work = plan.operators[-1].doing(EddyOp)
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
            routed.retune(drawn_tuning(rng, work, len(case.elements)))
        before = until


#: Of values that may be NULL.
HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def by_order(plan: NetworkPlan, rng: random.Random) -> list[Compare]:
    """Conditions by order between any columns of one type or of two kinds of numbers."""
    flat = plan.operators[-1].fields
    pairs = [
        (a, b)
        for a, b in permutations(range(len(flat)), 2)
        if (flat[a].type == "string") == (flat[b].type == "string")
    ]
    return [
        Compare(NOWHERE, rng.choice([*HOLDS]), _widened(a, flat, b), _widened(b, flat, a))
        for a, b in rng.sample(pairs, min(len(pairs), rng.randint(1, 3)))
        if flat[a].type != "string"
    ]


def _widened(place: int, flat: Fields, other: int) -> Node:
    at = At(NOWHERE, place, flat[place].type)
    wider = flat[other].type == "double" != flat[place].type
    return Widened(NOWHERE, at, "double") if wider else at


def _holds(conditions: Sequence[Compare], row: tuple[Any, ...]) -> bool:
    for condition in conditions:
        sides = [
            side.operand if isinstance(side, Widened) else side
            for side in (condition.left, condition.right)
        ]
        left, right = (row[side.index] for side in sides if isinstance(side, At))
        if left is None or right is None or not HOLDS[condition.op](left, right):
            return False
    return True


@settings(max_examples=200)
@given(joins(), st.integers(0, 1 << 30))
def test_conditions_by_order_hold_of_all_that_comes_out(case: Case, seed: int) -> None:
    rng, plan = random.Random(seed), eddies(case.plan)
    conditions, last = by_order(plan, rng), plan.operators[-1]
    work = replace(last.doing(EddyOp), residual=all_hold(conditions) if conditions else None)
    plan = replace(plan, operators=(*plan.operators[:-1], replace(last, work=work)))
    routed, n = Routed(plan), len(case.elements)
    routed.retune(drawn_tuning(rng, work, n))
    before = 0
    for until in case.cuts:
        parts = [[one for one in of if before <= one[1] < until] for of in case.elements]
        routed.run(parts, until)
        bags = [bag_at(history, until - 1) for history in case.elements]
        expected = join_at(case.work, bags, lambda row: _holds(conditions, row))
        assert bag_at(routed.out, until - 1) == expected
        before = until


@pytest.mark.parametrize(("op", "n_last"), [("<", 0), (">=", 4), ("<=", 2), (">", 2)])
def test_a_combination_that_breaks_a_condition_goes_no_further(op: str, n_last: int) -> None:
    of = fields("bigint", "double")
    sources = [stream(f"s{k}", of) for k in range(3)]
    condition = Compare(NOWHERE, op, At(NOWHERE, 1, "double"), At(NOWHERE, 3, "double"))
    work = EddyOp((((0, 0), (1, 0), (2, 0)),), condition)
    join = PlannedOperator("j", work, tuple(one.id for one in sources), of * 3)
    routed = Routed(NetworkPlan((*sources, join)))
    twice = [((7, value), 0, 1) for value in (2.0, 2.0)]
    routed.run([[], twice, []], 1)
    routed.run([[((7, 2.0), 1, 1), ((7, 3.0), 1, 1)], [], []], 2)
    assert routed.operator.profile().requests[2, :, PROBES].sum() == n_last


FOUR = fields("bigint", "bigint", "bigint")


def clique(kind: type[JoinOp]) -> NetworkPlan:
    """Each of four streams joins each of the others on an attribute of its own (A12)."""
    free = {port: iter(range(3)) for port in range(4)}
    classes = tuple(
        ((i, next(free[i])), (j, next(free[j]))) for i in range(4) for j in range(i + 1, 4)
    )
    sources = [stream(f"s{k}", FOUR) for k in range(4)]
    join = PlannedOperator("j", kind(classes), tuple(one.id for one in sources), FOUR * 4)
    return NetworkPlan((*sources, join))


def history(rng: random.Random, n: int, window: int, domain: int) -> list[Signed]:
    """A tuple at each tick; the oldest leaves when there are more than the window holds."""
    found: list[Signed] = []
    rows: list[tuple[int, ...]] = []
    for tick in range(n):
        rows.append(tuple(rng.randrange(domain) for _ in range(3)))
        found.append((rows[-1], tick, 1))
        if len(rows) > window:
            found.append((rows.pop(0), tick, -1))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_every_search_is_a_filter_of_the_whole_state(seed: int) -> None:
    """Also where wild cards are enumerated, in sealed partitions and in the one that is open."""
    rng = random.Random(seed)
    plan, routed = clique(EddyOp), Routed(clique(EddyOp))
    plain = Joined(clique(JoinOp))
    work = plan.operators[-1].doing(EddyOp)
    histories = [history(rng, 500, 150, 6 + 2 * seed) for _ in range(4)]
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
        routed.retune(replace(drawn_tuning(rng, work, 4), states=states))
    assert len(plain.out) > 100
    assert n_buckets > 2000


@pytest.mark.parametrize("bits", [(0, 0, 0), (2, 1, 3), (21, 21, 21)])
def test_codes_that_are_read_in_vain_are_told_from_tuples_compared(bits: tuple[int, ...]) -> None:
    rng, routed = random.Random(1), Routed(clique(EddyOp))
    states = (StateTuning(bits, partition=40),) * 4
    routed.retune(EddyTuning(states=states))
    histories = [history(rng, 200, 200, 9) for _ in range(4)]
    routed.run(histories, 200)
    counts = routed.operator.profile().requests
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
        code = np.uint64(bit_kernel.appended(code, np.uint64(own), n_bits))
    assert code == 250


def test_codes_of_fewer_bits_are_prefixes() -> None:
    for value in (0, 1, -5, 1 << 60):
        whole = int(bit_kernel.attribute_code(value, 64))
        for n_bits in (1, 2, 17, 63):
            assert int(bit_kernel.attribute_code(value, n_bits)) == whole >> (64 - n_bits)


@pytest.mark.parametrize(
    ("bits", "message"),
    [((1, 2), "2 numbers of bits for 3"), ((60, 4, 1), "0 to 64"), ((-1, 4, 1), "0 to 64")],
)
def test_bits_that_do_not_fit_are_refused(bits: tuple[int, ...], message: str) -> None:
    states = (StateTuning(bits), *(StateTuning(None) for _ in range(3)))
    with pytest.raises(ValueError, match=message):
        Routed(clique(EddyOp)).retune(EddyTuning(states=states))
