"""aggregate: one tuple for each group, or one always (thesis, table 2.1; card A4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64, Ints, dtype_of
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import dtypes_of
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
from backend.operators.network.relational.telling import GroupTeller, Results

_Extreme: TypeAlias = Literal["min", "max"]


class AggregateOperator(GroupTeller):
    """Aggregates at work. Exact under deletion: counts and sums as in ``exact_sums``, min and max
    as in ``extremes``. A sum of integers that 64 bits do not hold is NULL."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        self._work = planned.doing(AggregateOp)
        counts = [call.function == "count" for call in self._work.calls]
        super().__init__(planned, surroundings, self._work.groups, counts)
        fields = self.input_fields(0)
        keys = [fields[place] for place in self._work.groups] or [Attribute("", "bigint")]
        self._groups = KeyTable(self._regions.scope("groups"), dtypes_of(keys))
        self._rows = GroupCounts(self._regions, "rows", self._groups)
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

    def _changes(self, block: Block, begin: int) -> Block:
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

    def _result(self, call: AggregateCall, rows: BeforeAfter, episodes: Episodes) -> Results:
        if call.column is None:
            return [Column64(rows.before), Column64(rows.after)]
        if call.function == "min" or call.function == "max":
            return self._values[call.column].extreme(call.function, episodes)
        return self._measures[call.column, call.distinct].result(call.function)

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

    def result(self, function: str) -> Results:
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
