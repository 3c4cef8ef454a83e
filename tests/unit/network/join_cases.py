"""Joins of random inputs, and elements that come to them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

from hypothesis import strategies as st

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from tests.oracles.network_windows import Row, Signed
from tests.unit.network.elements import Fields, fields

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.sampled_from([1, 1, 2, None, 0]),
    "double": st.sampled_from([1.0, 1.0, 2.5, None, 0.0]),
    "string": st.sampled_from([1, 0, None]),
}
#: Columns that may be equal to each other.
FAMILIES = {"bigint": "number", "double": "number", "string": "string"}


@dataclass(frozen=True)
class Case:
    """A join, whether the tuples of each input leave in order, its elements, cuts in time."""

    plan: NetworkPlan
    elements: tuple[tuple[Signed, ...], ...]
    cuts: tuple[int, ...]

    @property
    def work(self) -> JoinOp:
        work = self.plan.operators[-1].work
        assert isinstance(work, JoinOp)
        return work


@st.composite
def histories(draw: st.DrawFn, of: Fields, fifo: bool) -> tuple[Signed, ...]:
    """Tuples come and go: the oldest, or any."""
    found: list[Signed] = []
    there: list[Row] = []
    now = 0
    for _ in range(draw(st.integers(4, 25))):
        now += draw(st.sampled_from([0, 0, 1, 2]))
        if there and draw(st.integers(0, 2)) == 0:
            place = 0 if fifo else draw(st.integers(0, len(there) - 1))
            found.append((there.pop(place), now, -1))
        else:
            row = draw(st.tuples(*(VALUES[one.type] for one in of)))
            there.append(row)
            found.append((row, now, 1))
    return tuple(found)


@st.composite
def joins(draw: st.DrawFn) -> Case:
    """2 to 4 inputs, some of them the same operator; classes of columns of any size."""
    n = draw(st.integers(2, 4))
    sources, histories_of = [], {}
    for k in range(n):
        of = fields(*draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3)))
        fifo = draw(st.booleans())
        sources.append(PlannedOperator(f"s{k}", StreamInput(f"S{k}", ()), (), of, fifo))
        histories_of[f"s{k}"] = draw(histories(of, fifo))
    inputs = [draw(st.sampled_from(sources)) for _ in range(n)]
    whole = fields(*(one.type for source in inputs for one in source.fields))
    free = {
        (port, place): FAMILIES[one.type]
        for port, source in enumerate(inputs)
        for place, one in enumerate(source.fields)
    }
    classes = []
    for _ in range(draw(st.integers(0, 3))):
        if free:
            first = draw(st.sampled_from(sorted(free)))
            family = free.pop(first)
            alike = sorted(one for one, other in free.items() if other == family)
            members = (
                draw(st.lists(st.sampled_from(alike), min_size=1, unique=True)) if alike else []
            )
            for one in members:
                del free[one]
            classes.append((first, *members))
    orders = [
        draw(st.sampled_from(list(permutations([j for j in range(n) if j != i])))) for i in range(n)
    ]
    work = JoinOp(tuple(classes), orders=draw(st.sampled_from([(), tuple(orders)])))
    join = PlannedOperator("j", work, tuple(one.id for one in inputs), whole)
    plan = NetworkPlan((*sources, join), sharing=draw(st.booleans()))
    cuts = draw(st.lists(st.integers(0, 50), max_size=5))
    return Case(plan, tuple(histories_of[one.id] for one in inputs), (*sorted(cuts), 60))
