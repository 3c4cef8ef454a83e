"""Elements of the tick that is not over, kept until it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, concat
from backend.operators.network.core.frame import dtypes_of
from backend.operators.network.core.regions import Regions
from backend.operators.network.relational.packing import n_words, pack, unpack

_FIRST: Final = 64
#: Elements that there is room for when none is kept: a tick of a join may have millions.
_LARGE: Final = 65_536
_HELD, _TAU = range(2)


class OpenTick:
    """In front of operators that tell what a whole tick comes to. In regions: packed tuples."""

    def __init__(self, regions: Regions, fields: Sequence[Attribute]) -> None:
        self._regions, self._dtypes = regions, dtypes_of(fields)
        self._width = n_words(len(fields))
        self._facts = regions.array("facts", "int64", 2)
        self._make_room()

    def _make_room(self) -> None:
        """As much as there is, at least for a few."""
        self._sign = self._regions.array("sign", "int8", _FIRST)
        self._words = self._regions.array("words", "int64", _FIRST * self._width)

    def _give_back_room(self) -> None:
        """What a large tick took."""
        if len(self._sign) > _LARGE:
            for name in ("sign", "words"):
                self._regions.drop(name)
            self._make_room()

    def over(self, block: Block, heartbeat: int) -> Block:
        """All elements of ticks that are over, of those kept and of ``block``; the others are kept.

        block: the next elements, all with τ <= heartbeat.
        """
        n_over = int(np.searchsorted(block.tau, heartbeat))
        elements = block.take(slice(n_over))
        if self._facts[_HELD] and self._facts[_TAU] < heartbeat:
            elements = concat([self._take(), elements])
            self._give_back_room()
        if n_over < len(block):
            self._keep(block.take(slice(n_over, None)))
        return elements

    def _take(self) -> Block:
        n = int(self._facts[_HELD])
        self._facts[_HELD] = 0
        tuples = self._words[: n * self._width].reshape(n, self._width)
        tau = np.full(n, self._facts[_TAU], np.int64)
        return Block(tau, self._sign[:n].copy(), unpack(tuples, self._dtypes))

    def _keep(self, block: Block) -> None:
        first = int(self._facts[_HELD])
        end = first + len(block)
        if end > len(self._sign):
            size = max(2 * len(self._sign), end)
            self._sign = self._regions.resized("sign", size)
            self._words = self._regions.resized("words", size * self._width)
        self._sign[first:end] = block.sign
        self._words[first * self._width : end * self._width] = pack(
            block.columns, len(block)
        ).ravel()
        self._facts[:] = end, block.tau[0]
