"""A selection plan as tasks get it: flat arrays, searches for regions, names of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.events import PlanKind
from backend.model.schema import FLOAT_TYPES
from backend.model.sending import SentOnce
from backend.operators.selection.layout import ByTable, Layout, Search, Texts
from backend.operators.selection.refuting import Refuting
from backend.operators.values import STORED, python_values


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


@dataclass(frozen=True)
class ShippedPlan(SentOnce):
    """A plan as tasks get it, the same object as long as it is in force.

    order: the constructs' attributes, with their types; searches: how each finds its regions.
    """

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

    @cached_property
    def refuting(self) -> Refuting:
        """Which tuples need not be read."""
        return Refuting(self)


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
        regions = [search.region_of(text) for text in coded.dictionary.to_pylist()]
        search = ByTable(0, np.array(regions or [0], dtype=np.int32))
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
    values: NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return values.astype(wanted, copy=False)
