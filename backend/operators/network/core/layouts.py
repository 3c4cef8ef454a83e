"""Stores of a plan as plain data: which synopses lie in which store (card A6; thesis, 2.2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

StoreKind: TypeAlias = Literal["window", "partition", "join", "bag"]
#: Words of the store's own in each tuple: τ and number; state and links of groups; -; state.
_OWN_WORDS: Final[Mapping[StoreKind, int]] = {"window": 2, "partition": 4, "join": 0, "bag": 1}
#: Bytes of a tuple in an index: where the one before it is, and two buckets.
_INDEX_BYTES: Final = 24
#: The index of a bag by which tuples are found that leave; of a partition window, by group.
OWN_INDEX: Final = "own index"


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How a tuple lies in a store, in words of 8 bytes: its columns, a bit for each column that
    says whether it is NULL, and words of the store's own. types: 'int64' or 'float64'."""

    types: tuple[str, ...]
    n_own: int = 0

    @property
    def nulls(self) -> int:
        """The first word of NULL bits."""
        return len(self.types)

    @property
    def own(self) -> int:
        """The first word of the store's own."""
        return len(self.types) + len(self.types) // 32 + 1

    @property
    def width(self) -> int:
        """Words of a tuple."""
        return self.own + self.n_own


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
