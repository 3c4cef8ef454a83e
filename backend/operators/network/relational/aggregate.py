"""aggregate: one tuple for each group, or one always (thesis, table 2.1; card A4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import (
    NEVER,
    Block,
    Bools,
    Column64,
    Ints,
    Values,
    concat,
    dtype_of,
    empty,
)
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of, typed
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.relational.episodes import (
    BeforeAfter,
    EpisodeFinder,
    Episodes,
    GroupCounts,
)
from backend.operators.network.relational.exact_sums import FloatSums, IntegerSums
from backend.operators.network.relational.group_values import GroupValues
from backend.operators.network.relational.keys import KeyTable, key_columns
from backend.operators.network.relational.open_tick import OpenTick

#: A result before and after each episode.
_Results: TypeAlias = Sequence[Column64]
_Extreme: TypeAlias = Literal["min", "max"]


class AggregateOperator(OperatorFrame):
    """Tells, when a tick is over, of each group that changed in it what it was (-) and is (+).

    Exact under deletion: counts and sums as in ``exact_sums``, min and max as in ``extremes``. A
    sum of integers that 64 bits do not hold is NULL. Without groups there is one tuple from the
    first tick on, before anything comes: count 0, others NULL.
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._work, fields = planned.doing(AggregateOp), self.input_fields(0)
        self._open = OpenTick(self._regions.scope("open"), fields)
        keys = [fields[place] for place in self._work.groups] or [Attribute("", "bigint")]
        self._groups = KeyTable(self._regions.scope("groups"), dtypes_of(keys))
        self._rows = GroupCounts(self._regions, "rows", self._groups)
        self._began = self._regions.array("began", "int64", 1)
        self._finder = EpisodeFinder()
        self._values = {
            column: self._values_of(column, fields)
            for column in sorted(_columns_by_value(self._work.calls))
        }
        self._measures = self._measures_of(fields)

    def _values_of(self, column: int, fields: Sequence[Attribute]) -> GroupValues:
        words: set[_Extreme] = {
            call.function
            for call in self._work.calls
            if call.column == column and (call.function == "min" or call.function == "max")
        }
        regions = self._regions.scope(f"values{column}")
        strings = self._surroundings.strings
        return GroupValues(regions, self._groups, fields[column], words, strings)

    def _measures_of(self, fields: Sequence[Attribute]) -> dict[tuple[int, bool], _Measure]:
        wanted: dict[tuple[int, bool], bool] = {}
        for call in self._work.calls:
            if call.column is not None and call.function in ("count", "sum", "avg"):
                key = (call.column, call.distinct)
                wanted[key] = wanted.get(key, False) or call.function != "count"
        return {
            (column, distinct): _Measure(
                self._regions.scope(f"{'distinct' if distinct else 'all'}{column}"),
                self._groups,
                fields[column],
                has_sum,
            )
            for (column, distinct), has_sum in wanted.items()
        }

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
        if self._work.groups or self._began[0] or heartbeat <= begin:
            return NEVER
        self._began[0] = 1
        return begin

    def _of_nothing(self, begin: int) -> Block:
        """The one tuple there is without groups, before anything has come."""
        columns = [
            Column64(
                np.zeros(1, dtype_of(field.type)),
                None if call.function == "count" else np.zeros(1, bool),
            )
            for call, field in zip(self._work.calls, self.fields, strict=True)
        ]
        return Block(np.array([begin]), np.ones(1, np.int8), tuple(columns))

    def _changes(self, block: Block, begin: int) -> Block:
        """What the elements of some ticks change."""
        slots = self._groups.slots(key_columns(block, self._work.groups))
        episodes = self._finder.find(slots, block.tau, self._groups.capacity)
        deltas = block.sign.astype(np.int64)
        rows = self._rows.add(episodes, deltas)
        if self._work.groups:
            existed, exists = rows.before > 0, rows.after > 0
        else:
            existed, exists = block.tau[episodes.first] > begin, np.ones(len(episodes), bool)
        self._take(block, episodes, deltas)
        results = [self._result(call, rows, episodes) for call in self._work.calls]
        changes = self._told(block, episodes, existed, exists, results)
        for values in self._values.values():
            values.tidy()
        self._groups.release(episodes.group[self._rows.of(episodes.group) == 0])
        return changes

    def _take(self, block: Block, episodes: Episodes, deltas: Ints) -> None:
        """Show the elements to all that follow them. deltas: their signs."""
        new = {
            column: values.take(episodes, block.columns[column], block.sign)
            for column, values in self._values.items()
        }
        for (column, distinct), measure in self._measures.items():
            taken = block.columns[column]
            comes = deltas if taken.valid is None else deltas * taken.valid
            measure.take(episodes, taken, new[column] if distinct else comes)

    def _result(self, call: AggregateCall, rows: BeforeAfter, episodes: Episodes) -> _Results:
        if call.column is None:
            return [Column64(rows.before), Column64(rows.after)]
        if call.function == "min" or call.function == "max":
            return self._values[call.column].extreme(call.function, episodes)
        return self._measures[call.column, call.distinct].result(call.function)

    def _told(
        self,
        block: Block,
        episodes: Episodes,
        existed: Bools,
        exists: Bools,
        results: Sequence[_Results],
    ) -> Block:
        """The old tuple of each episode, if it is there no more, and the new one, if it is new."""
        differs = np.zeros(len(episodes), bool)
        for before, after in results:
            differs |= before.values.view(np.int64) != after.values.view(np.int64)
            differs |= before.is_valid != after.is_valid
        is_told = _in_turn(existed & (~exists | differs), exists & (~existed | differs))
        first = np.repeat(episodes.first, 2)[is_told]
        groups = [block.columns[place].take(first) for place in self._work.groups]
        calls = [
            Column64(
                _in_turn(before.values, after.values)[is_told],
                _in_turn(before.is_valid, after.is_valid)[is_told],
            )
            for before, after in results
        ]
        sign = np.tile(np.array([-1, 1], np.int8), len(episodes))[is_told]
        return typed(Block(block.tau[first], sign, (*groups, *calls)), self.fields)

    @property
    def n_tuples(self) -> int:
        """Groups, and their values where those are kept."""
        return len(self._groups) + sum(map(len, self._values.values()))

    @property
    def n_bytes(self) -> int:
        measures = sum(measure.bytes_per_group for measure in self._measures.values())
        of_groups = len(self._groups) * (self._groups.bytes_per_key + 8 + measures)
        return of_groups + sum(values.n_bytes for values in self._values.values())


class _Measure:
    """How many values of a column there are in each group, and their sum."""

    def __init__(self, regions: Regions, groups: KeyTable, field: Attribute, has_sum: bool) -> None:
        self._counts = GroupCounts(regions, "counts", groups)
        is_float = dtype_of(field.type) == np.float64
        kind = FloatSums if is_float else IntegerSums
        self._sums = kind(regions.scope("sums"), groups) if has_sum else None
        self._counted = BeforeAfter(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @property
    def bytes_per_group(self) -> int:
        return 8 + (0 if self._sums is None else self._sums.bytes_per_group)

    def take(self, episodes: Episodes, column: Column64, deltas: Ints) -> None:
        """Values come (delta 1), go (-1), or do not matter (0)."""
        self._counted = self._counts.add(episodes, deltas)
        if self._sums is not None:
            self._sums.add(episodes, column.values, deltas)

    def result(self, function: str) -> _Results:
        """Of the elements taken last."""
        if function == "count":
            return [Column64(count) for count in self._counted]
        assert self._sums is not None
        counts = self._counted
        return self._sums.sums(counts) if function == "sum" else self._sums.means(counts)


def _columns_by_value(calls: Sequence[AggregateCall]) -> set[int]:
    """Columns whose values are to be kept."""
    return {
        call.column
        for call in calls
        if call.column is not None and (call.distinct or call.function in ("min", "max"))
    }


def _in_turn(before: Values, after: Values) -> Values:
    """[2 * m]: of the first episode before and after, then of the second."""
    return np.stack([before, after], axis=1).ravel()
