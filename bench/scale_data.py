"""What the bench of scale runs on: k queries over drift tuples, and our kernel on all threads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.cql import parse_query
from backend.operators.selection.layout import Layout, Search
from backend.operators.selection.lookup import hit_regions
from backend.operators.selection.matcher import Matcher
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.layouts import layout_of, search_of
from backend.systems.asc.macro import macro_sequence
from backend.systems.asc.matching import Regions, sample_regions
from backend.workloads.drift import DRIFT_SCHEMA, Phase, drift_table, q1_queries

SEED: Final = 7
SAMPLE: Final = 1000
#: Of everybody.
N_THREADS: Final = len(os.sched_getaffinity(0))
#: Tuples a thread takes at a time: their regions stay in the cache.
BLOCK: Final = 4096
#: Matched tuples, and the sum over them of the number of queries.
Counts = tuple[int, int]
#: Where clauses by name.
Queries: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class ScaleData:
    """k queries with their constructs, and the order the macro-sequence gives them.

    texts: Where clauses. sample: regions intp[T, n], schema order.
    """

    k: int
    texts: tuple[str, ...]
    constructs: ConstructSet
    sample: Regions
    order: tuple[str, ...]


def workload(k: int, tuples: pa.Table) -> ScaleData:
    """Queries with the characteristics of query set Q1 of [L12], as many as wanted."""
    streams = {"Drift": DRIFT_SCHEMA}
    named = q1_queries(seed=SEED, k=k)
    queries = [parse_query(name, text, streams) for name, text in named.items()]
    constructs = build_constructs(queries, DRIFT_SCHEMA)
    sample = {a: tuples.column(a)[:SAMPLE].to_pylist() for a in constructs.attributes}
    regions = sample_regions(constructs, sample)
    order = macro_sequence(constructs, regions).order
    texts = tuple(text.split(" Where ", 1)[1] for text in named.values())
    return ScaleData(k, texts, constructs, regions, order)


def selective_queries(k: int) -> Queries:
    """k queries of four predicates each, the first on a1, which drops most tuples."""
    named = q1_queries(SEED, k, 4 * k, common=("a1",))
    return {name: text.split(" Where ", 1)[1] for name, text in named.items()}


def drift_tuples(n: int) -> pa.Table:
    """n tuples, a1 dropping most: int columns a1 ... a20."""
    table = drift_table(SEED, (Phase("uniform", n, selective=("a1",)),), 0, n)
    return table.select(list(DRIFT_SCHEMA.names))


@dataclass(frozen=True)
class Kernel:
    """A plan over columns in memory: look-up of regions and matching, block by block.

    searches: of the order's attributes. fed: intp[slots], queries that share the slot.
    """

    layout: Layout
    searches: tuple[Search, ...]
    fed: NDArray[np.intp]
    kind: str

    @classmethod
    def of(cls, work: ScaleData, kind: str) -> Kernel:
        """The kernel for a workload's order under a kind of plan."""
        constructs = work.constructs.constructs
        searches: list[Any] = [search_of(constructs[a]) for a in work.order]
        fed = np.array([len(names) for names in work.constructs.slot_names], dtype=np.intp)
        return cls(layout_of(work.constructs, work.order), tuple(searches), fed, kind)

    def run(self, columns: Sequence[NDArray[np.int64]]) -> Counts:
        """Match all tuples on N_THREADS threads; columns: int64[T] in the plan's order."""
        parts = np.array_split(np.arange(len(columns[0])), N_THREADS)
        slices = [slice(int(p[0]), int(p[-1]) + 1) for p in parts if len(p)]
        with ThreadPoolExecutor(N_THREADS) as pool:
            counted = list(pool.map(lambda part: self._part(columns, part), slices))
        return sum(n for n, _ in counted), sum(hits for _, hits in counted)

    def _part(self, columns: Sequence[NDArray[np.int64]], part: slice) -> Counts:
        matcher = Matcher(self.layout, self.kind, True)
        regions = np.empty((len(columns), BLOCK), dtype=np.int32)
        n = hits = 0
        for start in range(part.start, part.stop, BLOCK):
            stop = min(start + BLOCK, part.stop)
            block = regions[:, : stop - start]
            for place, column in enumerate(columns):
                hit_regions(self.searches[place], column[start:stop], None, block[place])
            matches = matcher.match(block)
            n += int(np.count_nonzero(np.diff(matches.tuples, prepend=-1)))
            hits += int(self.fed[matches.slots].sum())
        return n, hits


def columns_of(tuples: pa.Table, order: Sequence[str]) -> list[NDArray[np.int64]]:
    """int64[T] of each attribute, in the order given."""
    return [tuples.column(a).to_numpy().astype(np.int64) for a in order]
