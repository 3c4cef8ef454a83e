"""What a Python worker of Spark does with its part of a batch: look up, match, count. No pyspark.

Arrow batches in; matched tuples with the names of their queries out, and behind them one row that
holds the counts and the profiled tuples alone. numba is imported when the first batch arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.events import PlanKind
from backend.model.schema import FLOAT_TYPES
from backend.operators.flags import PROFILED, RECENT
from backend.operators.selection.layout import ByTable, Layout, Search, Texts
from backend.operators.selection.tickets import FIRST_TICKETS, ticket_seed
from backend.operators.values import STORED, python_values

_IDS: Final = pa.list_(pa.string())
QUERY_IDS, TALLY, SAMPLE = "query_ids", "_tally", "_sample"


class Names(NamedTuple):
    """The names of queries, sorted, and which of them each slot feeds.

    starts: int64[slots+1]; ranks: int32, slot j feeds ranks[starts[j]:starts[j+1]].
    """

    sorted: tuple[str, ...]
    starts: NDArray[np.int64]
    ranks: NDArray[np.int32]

    def of_matches(
        self, tuples: NDArray[np.int32], slots: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Pairs (tuple, slot), tuples ascending, as the matched tuples, where the queries of each
        begin (one more, where the last ends), and the ranks of the queries, ascending."""
        if self._are_slots:
            ranks = self.ranks[slots]
        else:
            tuples, ranks = self._distinct(tuples, slots)
        begins = np.flatnonzero(np.diff(tuples, prepend=-1))
        return tuples[begins], np.append(begins, len(ranks)).astype(np.int32), ranks

    @property
    def _are_slots(self) -> bool:
        """Every slot feeds one query of its own, and the names sort as the slots do."""
        one_each = len(self.starts) == len(self.ranks) + 1 == len(self.sorted) + 1
        return one_each and bool((np.diff(self.ranks) > 0).all())

    def _distinct(
        self, tuples: NDArray[np.int32], slots: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        counts = self.starts[slots + 1] - self.starts[slots]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        fed = self.ranks[np.repeat(self.starts[slots], counts) + within]
        n_names = max(1, len(self.sorted))
        pairs = np.unique(np.repeat(tuples.astype(np.int64), counts) * n_names + fed)
        return (pairs // n_names).astype(np.int32), (pairs % n_names).astype(np.int32)


class Tally(NamedTuple):
    """Counts of a part of a batch, or of all of it. reached, dropped: int64[n], in the plan's
    order. matched: int64[queries], tuples by rank of the name."""

    reached: NDArray[np.int64]
    dropped: NDArray[np.int64]
    matched: NDArray[np.int64]

    def packed(self) -> bytes:
        """As bytes, of the queries only those that matched anything."""
        ranks = np.flatnonzero(self.matched)
        parts = [self.reached, self.dropped, ranks, self.matched[ranks]]
        return np.concatenate([[len(self.reached)], *parts]).astype("<i8").tobytes()

    @classmethod
    def unpacked(cls, parts: Sequence[bytes], n: int, n_queries: int) -> Tally:
        """The sum of packed tallies of n constructs."""
        total = cls(*(np.zeros(size, dtype=np.int64) for size in (n, n, n_queries)))
        for part in parts:
            numbers = np.frombuffer(part, dtype="<i8")[1:]
            total.reached[:] += numbers[:n]
            total.dropped[:] += numbers[n : 2 * n]
            ranks, counts = np.split(numbers[2 * n :], 2)
            total.matched[ranks] += counts
        return total


@dataclass(frozen=True)
class ShippedPlan:
    """A plan as workers get it, once a version. attributes: of the stream, in order. order: the
    constructs' attributes, with their types; searches: how each finds its regions."""

    attributes: tuple[str, ...]
    version: int
    kind: PlanKind
    resolved: bool
    order: tuple[tuple[str, str], ...]
    searches: tuple[Search | Texts, ...]
    layout: Layout
    names: Names

    @cached_property
    def name_array(self) -> pa.StringArray:
        """The sorted names as an Arrow array."""
        return pa.array(self.names.sorted, pa.string())


def match_part(
    plan: ShippedPlan, batch_id: int, partition: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The matched tuples of one partition, and a last row with its Tally and its sample.

    Batches have the stream's attributes, RECENT and PROFILED; results the attributes, RECENT and
    QUERY_IDS, and TALLY and SAMPLE, which are NULL in matched tuples.
    """
    part: _Part | None = None
    for batch in batches:
        part = part or _Part(plan, batch_id, partition, batch.schema)
        yield part.match(batch)
    if part is not None:
        yield part.end()


class _Part:
    """One partition of a batch under way."""

    def __init__(self, plan: ShippedPlan, batch_id: int, partition: int, schema: pa.Schema) -> None:
        from backend.operators.selection.matcher import Matcher

        seed = ticket_seed(plan.version, batch_id, partition)
        self._plan = plan
        self._matcher = Matcher(plan.layout, plan.kind, plan.resolved, FIRST_TICKETS, seed)
        self._matched = np.zeros(len(plan.names.sorted), dtype=np.int64)
        kept = [schema.field(name) for name in (*plan.attributes, RECENT)]
        ids = pa.field(QUERY_IDS, _IDS)
        told = [pa.field(name, pa.binary()) for name in (TALLY, SAMPLE)]
        self._schema = pa.schema([*kept, ids, *told])
        self._sample: list[pa.RecordBatch] = []

    def match(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        plan = self._plan
        regions = np.empty((len(plan.order), len(batch)), dtype=np.int32)
        for place, (attribute, type_name) in enumerate(plan.order):
            look_up(batch.column(attribute), type_name, plan.searches[place], regions[place])
        found = self._matcher.match(regions)
        rows, starts, ranks = plan.names.of_matches(found.tuples, found.slots)
        self._matched += np.bincount(ranks, minlength=len(self._matched))
        columns = [batch.column(name).take(rows) for name in (*plan.attributes, RECENT)]
        ids = pa.ListArray.from_arrays(
            pa.array(starts, pa.int32()), plan.name_array.take(ranks), type=_IDS
        )
        self._profile(batch)
        nothing = pa.nulls(len(rows), pa.binary())
        return pa.RecordBatch.from_arrays([*columns, ids, nothing, nothing], schema=self._schema)

    def _profile(self, batch: pa.RecordBatch) -> None:
        """Keep the profiled tuples: the plan's attributes."""
        drawn = batch.select([attribute for attribute, _ in self._plan.order])
        drawn = drawn.filter(batch.column(PROFILED))
        if len(drawn):
            self._sample.append(drawn)

    def end(self) -> pa.RecordBatch:
        counts = self._matcher.counts
        tally = Tally(counts.reached, counts.dropped, self._matched).packed()
        cells = [pa.nulls(1, field.type) for field in self._schema]
        cells[-2] = pa.array([tally], pa.binary())
        if self._sample:
            cells[-1] = pa.array([packed_sample(self._sample)], pa.binary())
        return pa.RecordBatch.from_arrays(cells, schema=self._schema)


def packed_sample(batches: Sequence[pa.RecordBatch]) -> bytes:
    """As bytes, for the way to the driver."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def sample_of(parts: Sequence[bytes], order: Sequence[str]) -> dict[str, list[Any]]:
    """The profiled tuples of all partitions: attribute -> Python values, timestamps without a
    zone, as everywhere."""
    tables = [pa.ipc.open_stream(part).read_all() for part in parts]
    return {
        attribute: [value for table in tables for value in python_values(table.column(attribute))]
        for attribute in order
    }


def look_up(
    column: pa.Array[Any],
    type_name: str,
    search: Search | Texts,
    out: NDArray[np.int32],
    hit_regions: Callable[..., None] | None = None,
) -> None:
    """Write the region each value of a column hits to ``out``, int32[T]. hit_regions: finds the
    regions of numbers; the kernel's unless given."""
    if hit_regions is None:
        from backend.operators.selection.lookup import hit_regions as by_kernel

        hit_regions = by_kernel
    is_null = None
    if column.null_count:
        is_null = column.is_null().to_numpy(zero_copy_only=False)
    if isinstance(search, Texts):
        coded = column.dictionary_encode()
        found = [search.region_of(text) for text in coded.dictionary.to_pylist()]
        search = ByTable(0, np.array(found or [0], dtype=np.int32))
        column, type_name = coded.indices, "int"
    hit_regions(search, numbers(column, type_name), is_null, out)


def numbers(column: pa.Array[Any], type_name: str) -> NDArray[Any]:
    """The values as int64 or float64, 0 in place of NULL: booleans as 0 and 1, dates in days and
    timestamps in microseconds since 1970."""
    if type_name == "boolean":
        column = column.cast(pa.uint8())
    elif type_name in STORED:
        column = column.view(STORED[type_name])
    filled = column.fill_null(0) if column.null_count else column
    wanted = np.float64 if type_name in FLOAT_TYPES else np.int64
    found: NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return found.astype(wanted, copy=False)
