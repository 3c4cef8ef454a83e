"""Operators of a network fed with elements in pieces, remade around their regions in between."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from backend.model.functions import Functions
from backend.model.schema import Attribute, Schema
from backend.operators.network.core.blocks import Block, Column64, dtype_of, empty
from backend.operators.network.core.contract import Clock, NetworkOperator, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import OperatorWork, PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.making import make
from tests.oracles.network_operators import Element, Row

#: No element is later.
LAST = 9
FIELDS = Schema.parse("a int, x double, s string").attributes
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from([None, 0, 1, -1, 2**62, 2**63 - 1, -(2**63)]),
    "double": st.sampled_from(
        [None, 0.0, 0.1, 0.2, -0.1, 1e16, -1e16, 5e-324, 1.5e300, math.inf, -math.inf, math.nan]
    ),
    "string": st.sampled_from([None, "", "B", "A", "Ä", "\U0001f600"]),
}


def fields_of(text: str) -> tuple[Attribute, ...]:
    """Columns as in "a int, x double"."""
    return Schema.parse(text).attributes


def rows(fields: Sequence[Attribute]) -> st.SearchStrategy[Row]:
    """Tuples with few values, those that are hard to count among them."""
    return st.tuples(*(_VALUES[field.type] for field in fields))


@st.composite
def histories(draw: st.DrawFn, fields: Sequence[Attribute], n: int = 14) -> list[Element]:
    """Elements in nondecreasing τ; what goes is there at the end of its tick's elements."""
    bag: list[Row] = []
    found: list[Element] = []
    tau = 0
    some = draw(st.lists(rows(fields), min_size=1, max_size=4))
    for gap, goes, row in draw(
        st.lists(
            st.tuples(st.sampled_from([0, 0, 0, 1, 3]), st.booleans(), st.sampled_from(some)),
            max_size=n,
        )
    ):
        tau = min(tau + gap, LAST)
        if goes and bag:
            found.append(Element(bag.pop(draw(st.integers(0, len(bag) - 1))), tau, -1))
        else:
            bag.append(row)
            found.append(Element(row, tau, 1))
    if draw(st.booleans()):
        found = sorted(draw(st.permutations(found)), key=lambda element: element.tau)
    return found


@st.composite
def cuts(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Heartbeats, with how many elements of the heartbeat's tick come along at the most."""
    beats = draw(st.lists(st.integers(0, LAST), max_size=6))
    return [(beat, draw(st.integers(0, 3))) for beat in sorted(beats)] + [(LAST + 1, 0)]


def block_of(elements: Sequence[Element], fields: Sequence[Attribute], strings: Strings) -> Block:
    """Elements in columns."""
    if not elements:
        return empty(fields)
    columns = []
    for place, one in enumerate(fields):
        values = [element.row[place] for element in elements]
        valid = np.array([value is not None for value in values])
        held = [_held(value, one, strings) for value in values]
        columns.append(Column64(np.array(held, dtype_of(one.type)), None if valid.all() else valid))
    tau = np.array([element.tau for element in elements], np.int64)
    return Block(tau, np.array([e.sign for e in elements], np.int8), tuple(columns))


def _held(value: Any, field: Attribute, strings: Strings) -> Any:
    if value is None:
        return 0
    return strings.code(value) if field.type == "string" else value


def elements_of(block: Block, fields: Sequence[Attribute], strings: Strings) -> list[Element]:
    """The elements of columns."""

    def value(place: int, row: int) -> Any:
        column = block.columns[place]
        assert column.values.dtype == dtype_of(fields[place].type)
        if not column.is_valid[row]:
            assert column.values[row] == 0
            return None
        found = column.values[row].item()
        if fields[place].type == "string":
            return strings.text(found)
        return math.nan if found != found else found

    return [
        Element(
            tuple(value(place, row) for place in range(len(fields))),
            int(block.tau[row]),
            int(block.sign[row]),
        )
        for row in range(len(block))
    ]


@dataclass
class Player:
    """One operator, its inputs' columns and its own; state in memory."""

    work: OperatorWork
    inputs: Sequence[Sequence[Attribute]]
    fields: Sequence[Attribute]
    begin: int = 0
    regions: MemoryRegions = field(default_factory=MemoryRegions)
    functions: Functions = field(default_factory=Functions)

    def __post_init__(self) -> None:
        self.strings = Strings(self.regions.scope("strings"))
        sources = [
            PlannedOperator(f"in{port}", StreamInput(f"S{port}", ()), (), tuple(fields))
            for port, fields in enumerate(self.inputs)
        ]
        names = tuple(source.id for source in sources)
        self.planned = PlannedOperator("op", self.work, names, tuple(self.fields))
        plan = NetworkPlan((*sources, self.planned))
        clock = Clock(begin=self.begin)
        self._surroundings = Surroundings(
            plan, self.regions, self.strings, clock, functions=self.functions
        )

    def made(self) -> NetworkOperator:
        """The operator with what the regions hold."""
        return make(self.planned, self._surroundings)

    def run(
        self, operator: NetworkOperator, inputs: Sequence[Sequence[Element]], heartbeat: int
    ) -> list[Element]:
        """One call."""
        blocks = [
            block_of(elements, fields, self.strings)
            for elements, fields in zip(inputs, self.inputs, strict=True)
        ]
        found = operator.run(blocks, heartbeat)
        assert len(found.columns) == len(self.fields)
        return elements_of(found, self.fields, self.strings)

    def play(
        self, inputs: Sequence[Sequence[Element]], beats: Iterable[tuple[int, int]]
    ) -> list[Element]:
        """All elements, cut at heartbeats; the operator is made anew at each.

        Checks that τ never goes back and that nothing is told of what was over before.
        """
        found: list[Element] = []
        before = 0
        for heartbeat, pieces in _pieces(inputs, beats):
            told = self.run(self.made(), pieces, heartbeat)
            taus = [before, *(element.tau for element in told)]
            assert taus == sorted(taus)
            assert max(taus) <= max(heartbeat, before)
            found += told
            assert [e.tau for e in found] == sorted(e.tau for e in found)
            before = heartbeat
        return found


def _pieces(
    inputs: Sequence[Sequence[Element]], beats: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, list[Sequence[Element]]]]:
    """Each heartbeat with the elements before it and a few of its own tick."""
    taken = [0] * len(inputs)
    for heartbeat, n_more in beats:
        pieces = []
        for port, elements in enumerate(inputs):
            end = sum(element.tau < heartbeat for element in elements)
            n_open = sum(element.tau == heartbeat for element in elements)
            end = max(taken[port], end + min(n_open, n_more))
            pieces.append(elements[taken[port] : end])
            taken[port] = end
        yield heartbeat, pieces
