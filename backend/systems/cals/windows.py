"""The window that a query coalesces or aggregates, and what stands above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from backend.operators.network.core.blocks import FOREVER
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.coalesce import ReadingsOp
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp
from backend.operators.network.kinds.windows import WindowOp
from backend.systems.contract import Refusal

_COUNTED: Final = (
    "its condition on values takes tuples out before [Rows {size}], which counts them, as the "
    "query it reads gives them no numbers; give a window [Range …], or put the condition into that "
    "query"
)


class BelowWindow(NamedTuple):
    """window: of a stream's tuples; tree: of these, with what stood above the window. counted: the
    stream whose tuples windows of rows count, '' where they count those of the tree. has_open: the
    tuples are readings of that stream."""

    window: WindowOp
    tree: OperatorTree
    counted: str
    has_open: bool


def window_below(below: OperatorTree, does: str) -> BelowWindow | Refusal:
    """A window at the top of a tree. What is above it takes tuples one by one, and goes below it.
    does: what the query does with it."""
    between: list[OperatorTree] = []
    while isinstance(below.work, SelectOp | ProjectOp):
        between.append(below)
        below = below.input
    readings = below if isinstance(below.work, ReadingsOp) else None
    below = below if readings is None else below.input
    window = below.work
    if not isinstance(window, WindowOp) or window.kind not in ("range", "rows"):
        return Refusal(f"it {does} no window [Range …] or [Rows n], so nothing can be shed")
    if not below.input.grows:
        return Refusal("its window is not of a stream's tuples")
    kept = below.input
    is_filtered = any(isinstance(operator.work, SelectOp) for operator in between)
    if window.kind == "rows" and is_filtered and not kept.stream:
        return Refusal(_COUNTED.format(size=window.size))
    if readings is not None and isinstance(readings.work, ReadingsOp):
        lasts = FOREVER if window.kind == "rows" else window.size + window.slide
        work = replace(readings.work, lasts=lasts)
        between.append(OperatorTree(work, (kept,), readings.fields))
    return BelowWindow(window, _over(between, kept), kept.stream, readings is not None)


def _over(operators: Sequence[OperatorTree], tree: OperatorTree) -> OperatorTree:
    """A tree below some operators, the topmost first."""
    for operator in reversed(operators):
        tree = operator.over([tree])
    return tree
