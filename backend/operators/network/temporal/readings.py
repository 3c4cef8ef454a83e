"""readings: tuples of a window with the time until the next one of their key. [AL11], card B1"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64, Ints, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.coalesce import ReadingsOp
from backend.operators.network.relational.keys import KeyTable, SlotValues, key_columns
from backend.operators.network.relational.open_tick import OpenTick
from backend.operators.network.relational.packing import n_words, pack, unpack
from backend.operators.network.temporal.readings_kernel import (
    KEY_WORDS,
    MOST_TOLD,
    N_FACTS,
    N_FREE,
    N_OPEN,
    NEXT,
    OVER,
    TAKEN,
    TOLD,
    TOLD_WORDS,
    USED,
    ReadingArrays,
    ReadingElements,
    TickUnit,
    play_readings,
)

_FIRST: Final = 64
_ROOM: Final = 1024
#: Of readings of a stream, behind their columns: their numbers in it, and their ticks.
_CAME: Final = (Attribute("number", "bigint"), Attribute("tick", "bigint"))


class ReadingsOperator(OperatorFrame):
    """Tells a reading with the end of the current tick, which goes on until its key's next one.

    The end of a reading that has a next one stays, also when that one leaves the window first. Of a
    stream the last reading of each key alone is kept (``ReadingsOp.lasts``).
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._work = planned.doing(ReadingsOp)
        fields = (*self.input_fields(0), *(_CAME if self._work.lasts else ()))
        self._open = OpenTick(self._regions.scope("open"), fields)
        self._dtypes = dtypes_of(fields)
        self._width = n_words(len(fields))
        self._keys = KeyTable(self._regions.scope("keys"), [self._dtypes[self._work.key]])
        self._ends = SlotValues(self._regions, "ends", "int32", self._keys, KEY_WORDS)
        self._facts: Ints = self._regions.array("facts", "int64", N_FACTS)
        self._words = self._regions.array("words", "int64", _FIRST * self._width)
        self._links = self._regions.array("links", "int32", _FIRST)
        self._shown = self._regions.array("shown", "int64", _FIRST)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = _numbered(inputs[0]) if self._work.lasts else inputs[0]
        block = self._open.over(block, heartbeat)
        if heartbeat <= self._facts[NEXT] or (not len(block) and not self._facts[N_OPEN]):
            return empty(self.fields)
        keys = key_columns(block, [self._work.key])
        slots = self._keys.slots(keys)
        changes = self._play(block, slots, heartbeat)
        live = self._keys.live()
        self._keys.release(live[self._ends.array.reshape(-1, KEY_WORDS)[live, 0] == 0])
        columns = unpack(changes[:, : self._width], self._dtypes)
        ends, tau = (np.ascontiguousarray(changes[:, self._width + k]) for k in (0, 1))
        signs = changes[:, self._width + 2].astype(np.int8)
        n = len(self.fields) - 1
        seq = columns[n].values if self._work.lasts else None
        return Block(tau, signs, (*columns[:n], Column64(ends)), seq)

    def _play(self, block: Block, slots: Ints, heartbeat: int) -> Ints:
        """int64[m, words]: what is told until before the heartbeat, see ``play_readings``."""
        self._make_room(len(block))
        work, width = self._work, self._width + TOLD_WORDS
        packed, done = pack(block.columns, len(block)), np.zeros(3, np.int64)
        elements = ReadingElements(block.tau, block.sign, slots, packed)
        unit = TickUnit(work.times, work.over, work.every, work.lasts)
        readings = self._arrays()
        room, parts = max(_ROOM, MOST_TOLD * len(block)), []
        while not done[OVER]:
            changes, before = np.empty((room, width), np.int64), done[TAKEN]
            play_readings(elements, heartbeat, unit, readings, changes, done)
            parts.append(changes[: done[TOLD]])
            is_full = not done[TOLD] and done[TAKEN] == before
            room = max(room * (1 + is_full), 2 * int(self._facts[N_OPEN]))
        return np.concatenate(parts)

    def _arrays(self) -> ReadingArrays:
        keys, words = self._ends.array, self._words
        return ReadingArrays(
            keys.reshape(-1, KEY_WORDS),
            words.reshape(-1, self._width),
            self._links,
            self._shown,
            self._facts,
            self._keys.capacity,
            self._work.start,
        )

    def _make_room(self, n_more: int) -> None:
        needed, size = len(self) + n_more, len(self._links)
        if needed > size:
            size = max(2 * size, needed)
            self._words = self._regions.resized("words", size * self._width)
            self._links = self._regions.resized("links", size)
            self._shown = self._regions.resized("shown", size)

    def __len__(self) -> int:
        """Readings in the window."""
        return int(self._facts[USED] - self._facts[N_FREE])

    @property
    def n_tuples(self) -> int:
        return len(self)

    @property
    def n_bytes(self) -> int:
        keys = len(self._keys) * (self._keys.bytes_per_key + 4 * KEY_WORDS)
        return len(self) * (8 * self._width + 12) + keys


def _numbered(block: Block) -> Block:
    """Tuples of a stream with what they are known by. Raises ValueError: they have no numbers."""
    if block.seq is None and len(block):
        raise ValueError("readings of a stream come by the numbers they have in it")
    numbers = np.zeros(0, np.int64) if block.seq is None else block.seq
    return block.having((*block.columns, Column64(numbers), Column64(block.tau)))
