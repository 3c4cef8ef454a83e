"""What groups came to in each tick, told when it is over: what aggregates have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from backend.operators.network.core.blocks import (
    NEVER,
    Block,
    Bools,
    Column64,
    Values,
    concat,
    dtype_of,
    empty,
)
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, typed
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.relational.episodes import Episodes
from backend.operators.network.relational.open_tick import OpenTick

#: A result before and after each episode.
Results: TypeAlias = Sequence[Column64]


class GroupTeller(OperatorFrame):
    """Tells, when a tick is over, of each group that changed in it what it was (-) and is (+).

    Without groups there is one tuple from the first tick on, before anything comes: counts 0,
    others NULL. groups: places of the group's columns in the input; counts: of the other columns
    of the output, whether each is a count.
    """

    def __init__(
        self,
        planned: PlannedOperator,
        surroundings: Surroundings,
        groups: Sequence[int],
        counts: Sequence[bool],
    ) -> None:
        super().__init__(planned, surroundings)
        self._group_places, self._are_counts = tuple(groups), tuple(counts)
        self._open = OpenTick(self._regions.scope("open"), self.input_fields(0))
        self._began = self._regions.array("began", "int64", 1)

    @abstractmethod
    def _changes(self, block: Block, begin: int) -> Block:
        """What the elements of some ticks change. begin: the first tick, if its tuple without
        groups was not told yet."""

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = self._open.over(inputs[0], heartbeat)
        begin = self._beginning(heartbeat)
        changes = []
        if begin != NEVER and not (len(block) and block.tau[0] == begin):
            changes.append(self._of_nothing(begin))
        if len(block):
            changes.append(self._changes(block, begin))
        return concat(changes) if changes else empty(self.fields)

    def _beginning(self, heartbeat: int) -> int:
        """The first tick, if it is over now and its tuple without groups was not told yet."""
        begin = self._surroundings.clock.begin
        if self._group_places or self._began[0] or heartbeat <= begin:
            return NEVER
        self._began[0] = 1
        return begin

    def _of_nothing(self, begin: int) -> Block:
        """The one tuple there is without groups, before anything has come."""
        columns = [
            Column64(np.zeros(1, dtype_of(field.type)), None if is_count else np.zeros(1, bool))
            for is_count, field in zip(self._are_counts, self.fields, strict=True)
        ]
        return Block(np.array([begin]), np.ones(1, np.int8), tuple(columns))

    def _told(
        self,
        block: Block,
        episodes: Episodes,
        existed: Bools,
        exists: Bools,
        results: Sequence[Results],
    ) -> Block:
        """The old tuple of each episode, if it is there no more, and the new one, if it is new."""
        differs = np.zeros(len(episodes), bool)
        for before, after in results:
            differs |= before.values.view(np.int64) != after.values.view(np.int64)
            differs |= before.is_valid != after.is_valid
        is_told = _in_turn(existed & (~exists | differs), exists & (~existed | differs))
        first = np.repeat(episodes.first, 2)[is_told]
        groups = [block.columns[place].take(first) for place in self._group_places]
        calls = [
            Column64(
                _in_turn(before.values, after.values)[is_told],
                _in_turn(before.is_valid, after.is_valid)[is_told],
            )
            for before, after in results
        ]
        sign = np.tile(np.array([-1, 1], np.int8), len(episodes))[is_told]
        return typed(Block(block.tau[first], sign, (*groups, *calls)), self.fields)


def _in_turn(before: Values, after: Values) -> Values:
    """[2 * m]: of the first episode before and after, then of the second."""
    return np.stack([before, after], axis=1).ravel()
