"""From an aggregate over a window to estimates from a sample of it. Card B8

What is kept is aggregated by group and by the probability with which it was kept; from these few
numbers come values for the whole window, and their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from lark import Token

from backend.cql.answers import ELEMENT_COLUMNS
from backend.cql.logical import numbered
from backend.cql.nodes import NOWHERE, Arithmetic, At, Node, Widened
from backend.model.schema import FLOAT_TYPES, Attribute
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.expressions import places_in
from backend.operators.network.kinds.sampling import EstimateCall, EstimateOp, SampleOp
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp, project
from backend.systems.cals.windows import BelowWindow, window_below
from backend.systems.contract import Refusal

#: Of an aggregate by place -> the places of the ends of its interval.
_Ends: TypeAlias = Mapping[int, tuple[int, int]]
_ENDS: Final = ("low", "high")
#: The column of what is kept with the probability that it was.
INCLUSION: Final = Attribute("inclusion", "double")
_ALLOWED: Final = (
    "allowed: groups, and count, sum and avg of all tuples of a window, which have an interval each"
)
_NOTHING: Final = (
    "it coalesces no window and aggregates none by itself, so nothing can be shed; allowed: a "
    "temporal query, or Select with count, sum, avg From one stream [Range …] or [Rows n]"
)


def sampled(tree: OperatorTree) -> OperatorTree | Refusal:
    """A query's tree with a window that keeps a sample, its aggregates with intervals."""
    listed = tree if isinstance(tree.work, ProjectOp) else None
    below = tree if listed is None else tree.input
    having = below if isinstance(below.work, SelectOp) else None
    below = below if having is None else below.input
    if not isinstance(below.work, AggregateOp):
        return Refusal(_NOTHING)
    refusal = _refused(below, below.work, listed)
    window = refusal or window_below(below.input, "aggregates")
    if isinstance(window, Refusal):
        return window
    plan, ends = _estimated(below, below.work, window)
    if having is not None:
        plan = OperatorTree(having.work, (plan,), plan.fields)
    columns = [At(NOWHERE, place, field.type) for place, field in enumerate(below.fields)]
    work = None if listed is None else listed.work
    expressions = work.expressions if isinstance(work, ProjectOp) else tuple(columns)
    return _listed(plan, expressions, tree.fields, ends)


def _refused(tree: OperatorTree, work: AggregateOp, listed: OperatorTree | None) -> Refusal | None:
    """Why a sample does not tell what is asked for."""
    if not work.calls:
        return Refusal("it asks for groups alone, and a sample may lack some; " + _ALLOWED)
    names = [field.name for field in tree.input.fields]
    for call in work.calls:
        if call.distinct or call.function in ("min", "max"):
            words = f"{call.text(names)} cannot be told from a sample of a window"
            return Refusal(f"{_place(call.at)}{words}; {_ALLOWED}")
    for node in listed.work.nodes if listed is not None else ():
        is_aggregate = max(places_in(node), default=-1) >= len(work.groups)
        if is_aggregate and not isinstance(node, At):
            words = "what is computed from aggregates has no interval of its own"
            return Refusal(f"{_place(node.at)}{words}; {_ALLOWED}")
    return None


def _place(at: Token) -> str:
    """Where in the text a sentence is about, if that is known."""
    return "" if at.line is None else f"line {at.line}, column {at.column}: "


def _estimated(
    tree: OperatorTree, work: AggregateOp, below: BelowWindow
) -> tuple[OperatorTree, _Ends]:
    """Estimates of aggregates behind one another, then the ends of their intervals."""
    n_groups = len(work.groups)
    fields = numbered([*below.tree.fields, INCLUSION])
    sample = OperatorTree(SampleOp(below.window, below.counted), (below.tree,), fields)
    parts, calls = _by_probability(sample, work)
    names = [field.name for field in tree.fields[n_groups:]]
    ends = [Attribute(f"{name}_{end}", "double") for name in names for end in _ENDS]
    estimate = OperatorTree(EstimateOp(n_groups, calls), (parts,), (*tree.fields, *ends))
    first = len(tree.fields)
    places = {n_groups + k: (first + 2 * k, first + 2 * k + 1) for k in range(len(calls))}
    return estimate, places


def _by_probability(
    sample: OperatorTree, work: AggregateOp
) -> tuple[OperatorTree, tuple[EstimateCall, ...]]:
    """What estimates are made from: the sample aggregated by group and probability."""
    first, inclusion = len(work.groups), len(sample.fields) - 1
    columns = sorted({call.column for call in work.calls if call.column is not None})
    kept = [At(NOWHERE, p, sample.fields[p].type) for p in (*work.groups, inclusion, *columns)]
    squares = [_square(sample.fields[place], place) for place in columns]
    named = [sample.fields[at.index] for at in kept]
    named += [Attribute(f"{sample.fields[place].name}²", "double") for place in columns]
    tree = project(sample, [*kept, *squares], numbered(named))
    at = {place: first + 1 + k for k, place in enumerate(columns)}
    parts = _Parts(tree.fields, first + 1, len(columns))
    calls = []
    for call in work.calls:
        column = None if call.column is None else at[call.column]
        calls.append(parts.estimated(call, column))
    fields, names = [*tree.fields[: first + 1]], [field.name for field in tree.fields]
    fields += [Attribute(part.text(names), part.type) for part in parts.wanted]
    op = AggregateOp(tuple(range(first + 1)), tuple(parts.wanted))
    plan, _ = OperatorTree(op, (tree,), numbered(fields)).pruned(range(len(fields)))
    return plan, tuple(calls)


class _Parts:
    """Aggregates by probability, each once, behind so many columns. fields: what is aggregated;
    n_columns: from a column to that of its squares."""

    def __init__(self, fields: Sequence[Attribute], first: int, n_columns: int) -> None:
        self.wanted: dict[AggregateCall, int] = {}
        self._fields, self._first, self._n_columns = fields, first, n_columns

    def estimated(self, call: AggregateCall, column: int | None) -> EstimateCall:
        """An aggregate as it is estimated. column: its argument's place. Raises ValueError for one
        that is not."""
        n = self._place(AggregateCall("count", column, False, "bigint"))
        if call.function == "count":
            return EstimateCall("count", n, n, n, n)
        if column is None or not (call.function == "sum" or call.function == "avg"):
            raise ValueError(f"{call.function} is not estimated")
        kind = "double" if self._fields[column].type in FLOAT_TYPES else "bigint"
        total = self._place(AggregateCall("sum", column, False, kind))
        exact = self._place(replace(call, column=column))
        squares = AggregateCall("sum", column + self._n_columns, False, "double")
        return EstimateCall(call.function, exact, n, total, self._place(squares))

    def _place(self, call: AggregateCall) -> int:
        return self.wanted.setdefault(call, self._first + len(self.wanted))


def _square(field: Attribute, place: int) -> Node:
    at = At(NOWHERE, place, field.type)
    side = at if field.type in FLOAT_TYPES else Widened(NOWHERE, at, "double")
    return Arithmetic(NOWHERE, "*", side, side)


def _listed(
    plan: OperatorTree, expressions: Sequence[Node], fields: Sequence[Attribute], ends: _Ends
) -> OperatorTree:
    """The select list, each aggregate with the ends of its interval behind it."""
    every: list[Node] = []
    named: list[Attribute] = []
    for node, own in zip(expressions, fields, strict=True):
        every.append(node)
        named.append(own)
        pair = ends.get(node.index, ()) if isinstance(node, At) else ()
        every += [At(NOWHERE, place, "double") for place in pair]
        named += [Attribute(f"{own.name}_{end}", "double") for end in _ENDS[: len(pair)]]
    return project(plan, every, numbered(named, ELEMENT_COLUMNS))
