"""shed in a plan: a window that is coalesced where it is kept, under a limit of memory. [AL11]"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from backend.operators.network.core.work import OperatorTree, Spread
from backend.operators.network.kinds.coalesce import CoalesceOp
from backend.operators.network.kinds.windows import WindowOp

_NOW: Final = WindowOp("range")


@dataclass(frozen=True, slots=True)
class ShedOp(CoalesceOp):
    """shed: the coalesced tuples of a window, range or rows, of a stream's tuples; under a limit
    those of the tuples that are kept. counted: the stream by whose tuples, all of them, windows of
    rows count, '' where they count what comes in. has_open: they are readings of a stream, whose
    ends are told as they become known (``ReadingsOp.lasts``)."""

    window: WindowOp = _NOW
    counted: str = ""
    has_open: bool = False
    role = "shed"
    name = "shed"

    @property
    def keeps(self) -> str:
        return "the window, as runs"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return f"{self.window.text(columns)}, {CoalesceOp.text(self, columns)}"

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        return self.window.facts(columns)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        self.window.check_counts(self.counted)
        return CoalesceOp.ways(self, tree, inputs)
