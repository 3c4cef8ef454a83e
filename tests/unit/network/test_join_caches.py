"""Tuned joins against all combinations of the tuples there are, after every element.

Whatever the probe orders, caches, profiles, shadow look-ups and cuts, the answer is the same; and
every entry of every cache is at any moment what its definition says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins import cache_rules
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.stores import stores
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import Row, Signed, bag_at
from tests.unit.network.elements import Fields, fields
from tests.unit.network.tuned_joins import TunedRun, fitting_together, possible_caches

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.sampled_from([1, 1, 1, 2, None, 0]),
    "double": st.sampled_from([1.0, 1.0, 2.5, 0.0, None]),
}


#: Bytes of a page here: a cache of three pages holds four or five cells.
PAGE: Final = 64


@pytest.fixture(autouse=True, scope="module")
def _tiny() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        patch.setattr(cache_rules, "PAGE_BYTES", PAGE)
        yield


@dataclass(frozen=True)
class Case:
    """A join under tunings: element number -> the tuning from then on. cuts: of how many elements
    each block is."""

    plan: NetworkPlan
    elements: tuple[tuple[int, Signed], ...]
    tunings: tuple[tuple[int, JoinTuning], ...]
    cuts: tuple[int, ...]


@st.composite
def queries(draw: st.DrawFn) -> NetworkPlan:
    """2 to 4 inputs of up to three columns; chains, stars, cycles, nothing in common."""
    n = draw(st.sampled_from([2, 3, 3, 3, 4, 4]))
    sources = []
    for k in range(n):
        of = fields(*draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3)))
        sources.append(PlannedOperator(f"s{k}", StreamInput("S", ()), (), of, draw(st.booleans())))
    inputs = list(sources)
    if draw(st.integers(0, 4)) == 0:
        inputs[1] = inputs[0]
    free = [(port, place) for port, one in enumerate(inputs) for place in range(len(one.fields))]
    classes = []
    for _ in range(draw(st.integers(1, 3))):
        members = draw(st.lists(st.sampled_from(free), min_size=2, max_size=4, unique=True))
        free = [one for one in free if one not in members]
        classes.append(tuple(sorted(members)))
        if len(free) < 2:
            break
    whole = tuple(field for one in inputs for field in one.fields)
    join = PlannedOperator("j", JoinOp(tuple(classes)), tuple(one.id for one in inputs), whole)
    return NetworkPlan((*sources, join), sharing=draw(st.booleans()))


@st.composite
def histories(draw: st.DrawFn, plan: NetworkPlan) -> tuple[tuple[int, Signed], ...]:
    """Elements in order of time; windows hold few tuples."""
    join = plan.operators[-1]
    sources = [plan.operator(id) for id in join.inputs]
    there: list[list[Row]] = [[] for _ in sources]
    found: list[tuple[int, Signed]] = []
    now = 0
    for _ in range(draw(st.integers(10, 40))):
        now += draw(st.sampled_from([0, 0, 1]))
        port = draw(st.integers(0, len(sources) - 1))
        source = sources[port]
        ports = [k for k, one in enumerate(sources) if one.id == source.id]
        leaves = len(there[port]) > draw(st.integers(0, 5))
        row = draw(_rows(source.fields))
        if leaves:
            place = 0 if source.fifo else draw(st.integers(0, len(there[port]) - 1))
            row = there[port][place]
        for k in ports:
            found.append((k, (row, now, -1 if leaves else 1)))
            if leaves:
                there[k].pop(place)
            else:
                there[k].append(row)
    return tuple(found)


def _rows(of: Fields) -> st.SearchStrategy[Row]:
    return st.tuples(*(VALUES[one.type] for one in of))


@st.composite
def tunings(draw: st.DrawFn, plan: NetworkPlan) -> JoinTuning:
    """Any probe orders, and caches that fit them."""
    work, n = plan.operators[-1].work, len(plan.operators[-1].inputs)
    assert isinstance(work, JoinOp)
    alike, is_alike = draw(st.permutations(range(n))), draw(st.booleans())
    orders = tuple(
        tuple(j for j in alike if j != i) if is_alike or draw(st.booleans())
        else draw(st.sampled_from(list(permutations([j for j in range(n) if j != i]))))
        for i in range(n)
    )  # fmt: skip
    n_bytes = PAGE * draw(st.sampled_from([100, 100, 3, 8, 0]))
    caches = possible_caches(work, orders, n_bytes, draw(st.sampled_from([1, 1, 2])))
    chosen = draw(st.permutations(caches)) if caches else []
    first = draw(st.sampled_from([(0, False), (0, False), (1, True), (1, False), (2, False)]))
    chosen.sort(key=lambda one: (len(one.witnesses), one.keyed) != first)
    some = fitting_together(replace(work, orders=orders), n, chosen)
    some = some[: draw(st.sampled_from([1, 2, 5]))]
    return JoinTuning(
        orders,
        some,
        draw(st.sampled_from([(), (0.5,) * n, (1.0,) * n, (0.0,) * (n - 1) + (1.0,)])),
        tuple(caches[:3]) if draw(st.booleans()) else (),
        block_probes=7,
        two_phase=draw(st.booleans()),
        seed=draw(st.integers(0, 3)),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    plan = draw(queries())
    elements = draw(histories(plan))
    times = sorted({0, *draw(st.lists(st.integers(1, len(elements)), max_size=2))})
    changes = tuple((at, draw(tunings(plan))) for at in times)
    return Case(plan, elements, changes, draw(st.sampled_from([(1,), (1,), (2, 5), (40,)])))


def _blocks(case: Case) -> Iterator[tuple[JoinTuning | None, list[tuple[int, Signed]]]]:
    """Elements in blocks, which end where the tuning changes; with the new tuning."""
    changes, at, turn = dict(case.tunings), 0, 0
    while at < len(case.elements):
        end = min(at + case.cuts[turn % len(case.cuts)], len(case.elements))
        end = min([end, *(change for change in changes if at < change)])
        yield changes.get(at), list(case.elements[at:end])
        at, turn = end, turn + 1


@settings(max_examples=120, deadline=None)
@given(cases())
def test_tunings_change_no_answer_and_caches_stay_true(case: Case) -> None:
    run, seen = TunedRun(case.plan), list[tuple[int, Signed]]()
    n = len(case.plan.operators[-1].inputs)
    for tuning, block in _blocks(case):
        run.retune(run.tuning if tuning is None else tuning)
        inputs: list[list[Signed]] = [[] for _ in range(n)]
        for port, element in block:
            inputs[port].append(element)
        run.run(inputs, block[-1][1][1])
        seen += block
        run.check()
        if case.cuts == (1,):
            bags = [bag_at([e for p, e in seen if p == port], 1 << 40) for port in range(n)]
            assert bag_at(run.out, 1 << 40) == join_at(run.work, bags)
    for tick in range(case.elements[-1][1][1] + 1):
        bags = [bag_at([e for p, e in case.elements if p == port], tick) for port in range(n)]
        assert bag_at(run.out, tick) == join_at(run.work, bags), tick
