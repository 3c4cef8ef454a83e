"""A state's bit-address index in regions, by partitions of consecutive tuples (AMRI, section 4).

It holds numbers of tuples, so it stays as it is when its store grows or is shared; one that cannot
stay (tuples of a bag have new numbers, partitions another size) is emptied and filled anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.eddy import words as w
from backend.operators.network.eddy.migration_kernel import migrate_partition
from backend.operators.network.eddy.tuning import PartitionReport, StateTuning
from storage.vocabulary.amri_costs import even_split

#: Bits of a code that a directory tells apart, at most.
_MOST_DEPTH: Final = 12
#: Of a state of which nothing is decided yet.
DEFAULT_BITS: Final = 12
#: Partitions there is room for at first.
_FIRST_ROOM: Final = 4
_ANY_ROOM: Final = 1 << 62
_FORM_WORDS: Final = 4
_NOTHING: Final = np.zeros(0, np.int64)


def _depth(size: int) -> int:
    return min(_MOST_DEPTH, (size - 1).bit_length())


def _chains(size: int) -> int:
    """Of the open partition."""
    return 1 << (2 * size - 1).bit_length()


def _room(n_tuples: int, size: int) -> int:
    """Partitions of a ring that holds so many tuples, wherever the first one begins."""
    room = _FIRST_ROOM
    while n_tuples > (room - 2) * size:
        room *= 2
    return room


def _array_words(size: int, room: int, n_attributes: int, n_ordered: int) -> dict[str, int]:
    return {
        "codes": room * size,
        "numbers": room * size,
        "directories": room * ((1 << _depth(size)) + 1),
        "partitions": room * (w.FIRST_BITS + n_attributes),
        "heads": _chains(size),
        "older": size,
        "cuts": room * n_ordered * w.N_CUT,
        "samples": size * n_ordered,
    }


def bit_index_bytes(n_tuples: int, size: int, n_attributes: int, n_ordered: int = 0) -> int:
    """What an index of so many tuples takes with partitions of a size, whatever its bits.
    n_ordered: attributes that are compared by order."""
    words = sum(_array_words(size, _room(n_tuples, size), n_attributes, n_ordered).values())
    return 8 * (words + _FORM_WORDS + w.N_FACT)


class BitIndex:
    """Of one input. n_attributes: N of its join attributes; n_ordered: those of them that are
    compared by order."""

    def __init__(
        self, regions: Regions, tuning: StateTuning, n_attributes: int, n_ordered: int
    ) -> None:
        self._regions, self._tuning = regions, tuning
        self._n, self._n_ordered = n_attributes, n_ordered
        self.migrated = self.migration_ns = 0
        self._bits = np.array(tuning.bits or (0,) * n_attributes, np.int64)
        size = tuning.partition
        self._scratch = np.zeros(2 * size + w.DIGITS, np.int64)
        self._depth = _depth(size)
        #: Whether there is memory for it.
        self.fits = True

    @property
    def is_there(self) -> bool:
        """Whether the state has one."""
        return self.fits and self._tuning.bits is not None and self._n > 0

    def row(self, n_tuples: int) -> Ints:
        """int64[N_INDEX]: where it lies, with room for so many tuples; good until the next call."""
        row = np.zeros(w.N_INDEX, np.int64)
        if not self.is_there:
            self._regions.drop()
            return row
        size, room = self._tuning.partition, _room(n_tuples, self._tuning.partition)
        form = self._regions.array("form", "int64", _FORM_WORDS)
        wanted = [self._n, self._n_ordered, size]
        held = int(form[-1]) if form[:-1].tolist() == wanted else 0
        if held < room or held > self._most_room(room):
            self.empty()
            self._regions.array("form", "int64", _FORM_WORDS)[:] = *wanted, room
        else:
            room = held
        words, mask = w.FIRST_BITS + self._n, _chains(size) - 1
        row[: w.N_ORDERED + 1] = size, room, self._depth, mask, words, self._n_ordered
        sizes = _array_words(size, room, self._n, self._n_ordered)
        self._arrays = [
            *(
                self._regions.array(name, "int64", n, -1 if name == "partitions" else 0)
                if n
                else _NOTHING
                for name, n in sizes.items()
            ),
            self._regions.array("facts", "int64", w.N_FACT, fill=-1),
            self._bits,
            self._scratch,
        ]
        row[w.CODES :] = [array.ctypes.data for array in self._arrays]
        return row

    def _most_room(self, room: int) -> int:
        """What it had room for stays while memory has no limit."""
        return room if self._tuning.most_bytes is not None else _ANY_ROOM

    def empty(self) -> None:
        """Forget all tuples: they are taken in again from the store."""
        self._regions.drop()

    def migrate(self, arrays: Ints, port: int, until_ns: int) -> None:
        """Give partitions that are to migrate the bits of new ones while there is time."""
        if not self.is_there:
            return
        begun = time.thread_time_ns()
        wanted = set(self._tuning.migrating)
        for number, facts in self._partitions():
            is_other = facts[w.FIRST_BITS :].tolist() != self._bits.tolist()
            if number in wanted and is_other and time.thread_time_ns() < until_ns:
                self.migrated += migrate_partition(arrays, port, number, self._bits)
        self.migration_ns += time.thread_time_ns() - begun

    def _partitions(self) -> Iterator[tuple[int, Ints]]:
        """Those with tuples: number and facts, oldest first."""
        words = w.FIRST_BITS + self._n
        rows = self._regions.array("partitions", "int64", words, fill=-1).reshape(-1, words)
        held = [row for row in rows if row[w.NUMBER] >= 0]
        for row in sorted(held, key=lambda row: int(row[w.NUMBER])):
            yield int(row[w.NUMBER]), row

    def report(self, oldest: int) -> tuple[PartitionReport, ...]:
        """Its partitions that still have tuples from number ``oldest`` on."""
        if not self.is_there:
            return ()
        size = self._tuning.partition
        return tuple(
            PartitionReport(number, int(facts[w.COUNT]), tuple(facts[w.FIRST_BITS :].tolist()))
            for number, facts in self._partitions()
            if (number + 1) * size > oldest
        )

    @property
    def n_bytes(self) -> int:
        """Of all its arrays."""
        return self._regions.n_bytes if self.is_there else 0


def default_states(n_attributes: Sequence[int]) -> tuple[StateTuning, ...]:
    """An even split where nothing is decided yet."""
    return tuple(StateTuning(even_split(n, DEFAULT_BITS) if n else None) for n in n_attributes)
