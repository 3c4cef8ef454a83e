"""Some of what an operator gives out in a batch, for who looks at it.

Which elements are kept follows from what they are: not from blocks, shards or the order in which
operators run. They are ranked by their timestamps first, mixed, so that elements of the same
timestamps are kept at every operator: what became of an element is among what is kept behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64, Ints, concat
from backend.operators.network.core.reports import Tapped, TappedElement
from backend.operators.network.core.strings import Strings
from backend.operators.network.shards.answers import told_rows
from backend.operators.network.shards.keyed import mixed
from backend.operators.network.shards.shard_reports import TAPPED_ELEMENTS

Hashes: TypeAlias = NDArray[np.uint64]
#: In place of NULL.
_NULL: Final = np.uint64(0x9E3779B97F4A7C15)
#: Elements that are looked at at once, at first.
_TOGETHER: Final = 4 * TAPPED_ELEMENTS


class Tap:
    """Keeps the elements of an operator that have the least ranks, and counts how often each of
    them comes. fields: of its elements."""

    def __init__(self, fields: Sequence[Attribute], strings: Strings) -> None:
        self._fields, self._strings = fields, strings
        self._kept: Block | None = None
        self._turns = self._contents = np.zeros(0, np.uint64)
        self._times: Ints = np.zeros(0, np.int64)

    def take(self, block: Block, heartbeat: int) -> None:
        """The next elements, those of the first turns first: mostly the others need no look."""
        turns, n = turns_of(block.tau), _TOGETHER
        rows = np.arange(len(block))
        while len(rows := self._wanted(rows, turns)):
            own = turns[rows]
            is_next = own <= (np.partition(own, n - 1)[n - 1] if len(own) > n else own.max())
            self._keep(block.take(rows[is_next]), own[is_next])
            rows, n = rows[~is_next], 2 * n

    def _wanted(self, rows: Ints, turns: Hashes) -> Ints:
        """Those rows that may yet be among the least."""
        is_full = len(self._turns) == TAPPED_ELEMENTS
        return rows[turns[rows] <= self._turns[-1]] if is_full else rows

    def _keep(self, block: Block, turns: Hashes) -> None:
        turns = np.concatenate([self._turns, turns])
        contents = np.concatenate([self._contents, self._hashed(block)])
        times = np.concatenate([self._times, np.ones(len(block), np.int64)])
        order = np.lexsort((contents, turns))
        turns, contents, times = turns[order], contents[order], times[order]
        is_new = (np.diff(turns) != 0) | (np.diff(contents) != 0)
        firsts = np.flatnonzero(np.concatenate([[True], is_new]))
        self._times = np.add.reduceat(times, firsts)[:TAPPED_ELEMENTS]
        firsts = firsts[:TAPPED_ELEMENTS]
        self._turns, self._contents = turns[firsts], contents[firsts]
        held = [] if self._kept is None else [self._kept]
        self._kept = concat([*held, block]).take(order[firsts])

    def _hashed(self, block: Block) -> Hashes:
        """Of what each element is, but for its timestamp."""
        hashes = mixed(block.sign.astype(np.int64).view(np.uint64))
        for column, field in zip(block.columns, self._fields, strict=True):
            numbers = self._numbers(column, field)
            if column.valid is not None:
                numbers = np.where(column.valid, numbers, _NULL)
            hashes = mixed(hashes * np.uint64(31) + numbers)
        return hashes

    def _numbers(self, column: Column64, field: Attribute) -> Hashes:
        """Equal where values are, in every shard."""
        if field.type != "string":
            return column.values.view(np.uint64)
        codes, places = np.unique(column.values, return_inverse=True)
        return np.array([self._text_hash(code) for code in codes.tolist()], np.uint64)[places]

    def _text_hash(self, code: int) -> int:
        text = self._strings.text(code) if code < len(self._strings) else ""  # 0 where all is NULL
        data = text.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")

    def told(self) -> Tapped:
        """What is kept, by rank."""
        columns = tuple(field.name for field in self._fields)
        if self._kept is None:
            return Tapped(columns)
        rows = told_rows(self._kept, self._fields, self._strings)
        ranks = zip(self._turns.tolist(), self._contents.tolist(), strict=True)
        stamps = self._times.tolist(), self._kept.tau.tolist(), self._kept.sign.tolist()
        kept = zip(ranks, *stamps, rows, strict=True)
        return Tapped(columns, tuple(TappedElement(*each) for each in kept))


def turns_of(tau: Ints) -> NDArray[Any]:
    """uint64[n]: timestamps are kept in this order."""
    return mixed(tau.astype(np.int64).view(np.uint64))
