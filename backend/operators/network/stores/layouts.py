"""Which synopses of a plan lie in which store, under which stub (card A6; thesis, 2.2.4).

With sharing, all windows over the same elements and the joins directly above them keep their
tuples once; so do joins that read the same operator. Without, each synopsis has its own store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.pipelines import index_names, key_columns
from backend.operators.network.core.plan import (
    At,
    JoinOp,
    NetworkPlan,
    PlannedOperator,
    ProjectOp,
    RelationInput,
    StreamInput,
    WindowOp,
)
from backend.operators.network.stores.stores import RowFormat

StoreKind: TypeAlias = Literal["window", "partition", "join", "bag"]
#: Words of the store's own in each tuple: τ and number; state and links of groups; -; state.
_OWN_WORDS: Final[Mapping[StoreKind, int]] = {"window": 2, "partition": 4, "join": 0, "bag": 1}
#: Bytes of a tuple in an index: where the one before it is, and two buckets.
_INDEX_BYTES: Final = 24
#: The index of a bag by which tuples are found that leave; of a partition window, by group.
OWN_INDEX: Final = "own index"


@dataclass(frozen=True, slots=True)
class StubPlan:
    """A synopsis. port: of a join, which input it holds; 0 else. columns: the store's column of
    each column. feed: the operator whose elements the numbers of tuples count. indexes: names."""

    operator: str
    port: int
    columns: tuple[int, ...]
    feed: str
    indexes: tuple[str, ...] = ()

    @property
    def owner(self) -> tuple[str, int]:
        """Says which synopsis of a plan it is."""
        return self.operator, self.port


@dataclass(frozen=True, slots=True)
class StorePlan:
    """A store: its kind, the types of its columns ('int64', 'float64'), its stubs."""

    kind: StoreKind
    types: tuple[str, ...]
    stubs: tuple[StubPlan, ...]

    @property
    def id(self) -> str:
        """Named by its first stub."""
        return f"{self.stubs[0].operator}.{self.stubs[0].port}"

    @property
    def format(self) -> RowFormat:
        """How its tuples lie."""
        return RowFormat(self.types, _OWN_WORDS[self.kind])

    @property
    def indexes(self) -> tuple[str, ...]:
        """Of all its stubs."""
        return tuple(sorted({name for stub in self.stubs for name in stub.indexes}))

    def holds_as(self, other: StorePlan) -> bool:
        """Whether the same tuples lie in the same way, whatever the indexes."""
        bare, others = (
            StorePlan(s.kind, s.types, tuple(replace(stub, indexes=()) for stub in s.stubs))
            for s in (self, other)
        )
        return bare == others

    def n_bytes(self, n_tuples: int) -> int:
        """What so many tuples take in it."""
        return n_tuples * (8 * self.format.width + _INDEX_BYTES * len(self.indexes))


def store_layout(plan: NetworkPlan) -> tuple[StorePlan, ...]:
    """The stores of a plan, in its order; depends on the plan alone."""
    operators = {one.id: one for one in plan.operators}
    stores: dict[str, StorePlan] = {}
    for one in plan.operators:
        for group, store in _synopses(one, operators, plan.sharing):
            before = stores.get(group)
            if before is not None:
                store = StorePlan(before.kind, before.types, before.stubs + store.stubs)
            stores[group] = store
    return tuple(stores.values())


def reads_directly(one: PlannedOperator, plan: NetworkPlan) -> StreamInput | None:
    """The stream whose tuples an operator gets as they come, if it does: nothing in between but
    projections."""
    while isinstance((one := plan.operator(one.inputs[0])).work, ProjectOp):
        pass
    return one.work if isinstance(one.work, StreamInput) else None


_Operators: TypeAlias = Mapping[str, PlannedOperator]


def _synopses(
    one: PlannedOperator, operators: _Operators, sharing: bool
) -> Iterator[tuple[str, StorePlan]]:
    """The synopses of an operator, each as a store of its own, with the name of the group that
    shares one."""
    if isinstance(one.work, WindowOp) and one.work.kind != "unbounded":
        kind: StoreKind = "partition" if one.work.kind == "partition" else "window"
        indexes = (OWN_INDEX,) if kind == "partition" else ()
        types = column_types(one)
        stub = StubPlan(one.id, 0, tuple(range(len(types))), one.inputs[0], indexes)
        yield _window_group(one) if sharing else one.id, StorePlan(kind, types, (stub,))
    if isinstance(one.work, JoinOp):
        for port in range(len(one.inputs)):
            yield _join_synopsis(one, port, operators, sharing)


def _join_synopsis(
    one: PlannedOperator, port: int, operators: _Operators, sharing: bool
) -> tuple[str, StorePlan]:
    source = operators[one.inputs[port]]
    types = column_types(source)
    window, places = _window_below(source, operators)
    alone, all_places = f"{one.id}.{port}", tuple(range(len(types)))
    if not (source.fifo or isinstance(source.work, RelationInput)):
        stub = _join_stub(one, port, operators, all_places, source.id, (OWN_INDEX,))
        return alone, StorePlan("bag", types, (stub,))
    if window is None:
        stub = _join_stub(one, port, operators, all_places, source.id)
        return f"of {source.id}" if sharing else alone, StorePlan("join", types, (stub,))
    if sharing:
        stub = _join_stub(one, port, operators, places, window.id)
        return _window_group(window), StorePlan("join", types, (stub,))
    stub = _join_stub(one, port, operators, all_places, window.id)
    return alone, StorePlan("join", types, (stub,))


def _join_stub(
    one: PlannedOperator,
    port: int,
    operators: _Operators,
    columns: tuple[int, ...],
    feed: str,
    indexes: tuple[str, ...] = (),
) -> StubPlan:
    assert isinstance(one.work, JoinOp)
    types = [column_types(operators[input]) for input in one.inputs]
    keys = key_columns(one.work, port, types, columns)
    probed = sorted(index_names(one.work, port, len(one.inputs), keys))
    return StubPlan(one.id, port, columns, feed, (*indexes, *probed))


def column_types(one: PlannedOperator) -> tuple[str, ...]:
    """'int64' or 'float64' for each column of an operator."""
    return tuple(str(dtype_of(field.type)) for field in one.fields)


def _window_group(window: PlannedOperator) -> str:
    """What shares a store with a window: all windows of its input that keep every tuple."""
    work = window.work
    assert isinstance(work, WindowOp)
    if work.kind == "rows" or (work.kind == "range" and work.size >= work.slide - 1):
        return f"windows of {window.inputs[0]}"
    return window.id


def _window_below(
    source: PlannedOperator, operators: _Operators
) -> tuple[PlannedOperator | None, tuple[int, ...]]:
    """The range or rows window whose elements these are, perhaps with fewer columns; and which of
    its columns. None: they are not."""
    places = tuple(range(len(source.fields)))
    while isinstance(source.work, ProjectOp):
        kept = [e.index for e in source.work.expressions if isinstance(e, At)]
        if len(kept) < len(source.work.expressions):
            return None, ()
        places = tuple(kept[place] for place in places)
        source = operators[source.inputs[0]]
    is_fifo = isinstance(source.work, WindowOp) and source.work.kind in ("range", "rows")
    return (source, places) if is_fifo else (None, ())
