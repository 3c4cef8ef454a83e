"""union, except, intersect in a plan (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.work import (
    OneShard,
    OperatorTree,
    Places,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.comparing import Comparing
from backend.operators.network.kinds.select_project import exact


@dataclass(frozen=True, slots=True)
class SetOp(Comparing):
    """union, except, intersect of two bags."""

    word: Literal["union", "except", "intersect"]
    role = "set operation"

    def named(self, n_inputs: int) -> str:
        return self.word

    @property
    def keeps(self) -> str:
        return "" if self.word == "union" else "counts of both inputs"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return self.word

    def grows(self, inputs: Sequence[bool]) -> bool:
        return self.word != "except" and all(inputs)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        """A union compares nothing."""
        if self.word != "union":
            return super(SetOp, self).pruned(tree, keep)
        fields = tuple(tree.fields[place] for place in keep)
        inputs = tuple(exact(input, keep) for input in tree.inputs)
        return OperatorTree(self, inputs, fields), kept_places(keep)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        types = ([dtype_of(field.type) for field in input.fields] for input in tree.inputs)
        columns = zip(*types, strict=True)
        alike = frozenset(place for place, held in enumerate(columns) if len(set(held)) == 1)
        ways = [
            tree.spread((a, b), a.places & b.places & alike)
            for a in inputs[0]
            for b in inputs[1]
            if a.places & b.places & alike or (a.whole and b.whole)
        ]
        parted = [next((way for way in some if not way.whole), None) for some in inputs]
        if self.word == "union" and None not in parted:
            ways.append(tree.spread([way for way in parted if way is not None], ()))
        if not ways:
            raise OneShard(f"{self.word} compares tuples that could be in different shards")
        return ways
