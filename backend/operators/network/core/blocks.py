"""Elements between operators, in columns: a tuple, a timestamp and a sign each (thesis, 2.1).

Every value is an int64 or a float64: booleans 0 and 1, dates days, timestamps microseconds since
1970, strings the codes of a ``Strings``. Timestamps of elements (τ) are ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.model.schema import FLOAT_TYPES, Attribute

Ints: TypeAlias = NDArray[np.int64]
Signs: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[Any]
#: τ before all others, and after all others.
NEVER: Final = -1
FOREVER: Final = 1 << 62


def dtype_of(type_name: str) -> np.dtype[Any]:
    """How values of a type of Spark SQL are held: int64 or float64."""
    return np.dtype(np.float64 if type_name in FLOAT_TYPES else np.int64)


@dataclass(frozen=True, slots=True)
class Column64:
    """A column of n values. values: int64[n] or float64[n], 0 where NULL; -0.0 and NaN as one each.

    valid: bool[n], False where NULL; None: no value is NULL.
    """

    values: Values
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Column64:
        """The values at some places: an index array, a mask or a slice."""
        return Column64(self.values[rows], None if self.valid is None else self.valid[rows])

    @property
    def is_valid(self) -> Bools:
        """bool[n], also where no value is NULL."""
        return np.ones(len(self.values), bool) if self.valid is None else self.valid


@dataclass(frozen=True, slots=True)
class Block:
    """n elements in nondecreasing τ. tau: int64[n]; sign: int8[n], +1 or -1; columns: as the
    operator's fields. seq: int64[n], their numbers in a stream that is read directly, from 0; None
    elsewhere."""

    tau: Ints
    sign: Signs
    columns: tuple[Column64, ...]
    seq: Ints | None = None

    def __len__(self) -> int:
        return len(self.tau)

    def take(self, rows: Any) -> Block:
        """Some of the elements: ascending places, a mask or a slice."""
        seq = None if self.seq is None else self.seq[rows]
        columns = tuple(column.take(rows) for column in self.columns)
        return Block(self.tau[rows], self.sign[rows], columns, seq)

    def having(self, columns: Sequence[Column64]) -> Block:
        """The same elements with other columns."""
        return Block(self.tau, self.sign, tuple(columns), self.seq)

    @property
    def n_bytes(self) -> int:
        """Of all arrays."""
        masks = sum(c.valid.nbytes for c in self.columns if c.valid is not None)
        return int(self.tau.nbytes + self.sign.nbytes + masks) + sum(
            int(c.values.nbytes) for c in self.columns
        )


def empty(fields: Sequence[Attribute]) -> Block:
    """No elements, with the columns of ``fields``."""
    columns = tuple(Column64(np.zeros(0, dtype_of(field.type))) for field in fields)
    return Block(np.zeros(0, np.int64), np.zeros(0, np.int8), columns)


def concat(blocks: Sequence[Block]) -> Block:
    """One block after the other; at least one."""
    if len(blocks) == 1:
        return blocks[0]
    seqs = [block.seq for block in blocks]
    columns = [
        _concat_column([block.columns[k] for block in blocks])
        for k in range(len(blocks[0].columns))
    ]
    return Block(
        np.concatenate([block.tau for block in blocks]),
        np.concatenate([block.sign for block in blocks]),
        tuple(columns),
        None
        if any(seq is None for seq in seqs)
        else np.concatenate([s for s in seqs if s is not None]),
    )


def _concat_column(columns: Sequence[Column64]) -> Column64:
    values = np.concatenate([column.values for column in columns])
    if all(column.valid is None for column in columns):
        return Column64(values)
    return Column64(values, np.concatenate([column.is_valid for column in columns]))
