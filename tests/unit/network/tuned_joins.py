"""Joins under tunings, in regions of their own: their caches read out, their specs found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import as_tuned
from backend.operators.network.joins import cache_kernel as kernel
from backend.operators.network.joins.cache_rules import check_caches
from backend.operators.network.joins.join_caches import CacheArrays, NotedScopes
from backend.operators.network.joins.join_tuning import (
    CacheSpec,
    JoinProfile,
    JoinTuning,
    Segment,
)
from backend.operators.network.joins.joins import WindowJoin
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.pipelines import classes_of
from backend.operators.network.stores.stores import Store
from backend.operators.network.stores.synopses import synopses
from storage.vocabulary.memory import PAGE_BYTES
from tests.oracles.join_caches import Tuple, check_entries
from tests.oracles.network_windows import Signed
from tests.unit.network.elements import block_of, elements_of


@dataclass
class TunedRun:
    """The last operator of a plan, a join, at work under a tuning."""

    plan: NetworkPlan
    tuning: JoinTuning = field(default_factory=JoinTuning)
    out: list[Signed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.regions = MemoryRegions()
        self.retune(self.tuning)

    @property
    def work(self) -> JoinOp:
        """The join, with the orders in force."""
        work = self._around.plan.operators[-1].work
        assert isinstance(work, JoinOp)
        return work

    def retune(self, tuning: JoinTuning) -> None:
        """Make it anew around its regions."""
        self.tuning, id = tuning, self.plan.operators[-1].id
        plan = as_tuned(self.plan, {id: tuning})
        strings = Strings(self.regions.scope("strings"))
        self._around = Surroundings(plan, self.regions, strings, Clock(), tunings={id: tuning})
        self.operator = WindowJoin(plan.operators[-1], self._around)

    def run(self, inputs: Sequence[Sequence[Signed]], heartbeat: int) -> list[Signed]:
        """The new elements."""
        of = [self.plan.operator(id).fields for id in self.operator.planned.inputs]
        blocks = [block_of(part, one) for part, one in zip(inputs, of, strict=True)]
        found = elements_of(self.operator.run(blocks, heartbeat))
        self.out += found
        return found

    def one(self, port: int, row: Sequence[Any], tau: int = 0, sign: int = 1) -> list[Signed]:
        """One element, and what comes of it."""
        inputs: list[list[Signed]] = [[] for _ in self.operator.planned.inputs]
        inputs[port] = [(tuple(row), tau, sign)]
        return self.run(inputs, tau)

    @property
    def profile(self) -> JoinProfile:
        """What it told since it was tuned last."""
        found = self.operator.profile()
        assert found is not None
        return found

    @property
    def windows(self) -> list[list[Tuple]]:
        """The tuples that each input holds, with their numbers."""
        return [
            [
                (number, tuple(row))
                for number, row in _held(one.store, one.plan.kind, one.place, one.columns)
            ]
            for one in synopses(self._around, self.operator.planned.id)
        ]

    def entries(self, spec: CacheSpec) -> dict[tuple[Any, ...], dict[tuple[int, ...], int]]:
        """What a cache holds: key -> numbers of a tuple -> witnesses counted, or 1."""
        id = self.operator.planned.id
        scopes = NotedScopes(self.regions.scope(id).scope("caches"))
        nowhere = (0, len(spec.windows)), (0, len(spec.key))
        arrays = CacheArrays(scopes.scope(spec.id), spec, spec.n_bytes, spec.ways, *nowhere)
        floats = [self._is_float(group) for group in spec.key]
        return _read(arrays, floats)

    def check(self) -> None:
        """Every entry of every cache is true."""
        windows = self.windows
        for spec in self.tuning.caches:
            check_entries(self.work, windows, spec, self.entries(spec))

    def _is_float(self, group: int) -> bool:
        inputs = [self.plan.operator(id).fields for id in self.operator.planned.inputs]
        return any(inputs[i][c].type == "double" for i, c in self.work.equal[group])


def _held(
    store: Store, kind: str, place: int, columns: Sequence[int]
) -> Iterator[tuple[int, list[Any]]]:
    store.take_up()
    stub = store.stub(place)
    numbers = np.arange(stub.lo, stub.hi)
    if kind == "bag":
        states = store.words(numbers, [store.format.own])[0]
        numbers = numbers[states == 0]
    found = store.columns(numbers, columns)
    for k, number in enumerate(numbers.tolist()):
        yield number, [c.values[k].item() if c.is_valid[k] else None for c in found]


def _read(
    cache: CacheArrays, floats: Sequence[bool]
) -> dict[tuple[Any, ...], dict[tuple[int, ...], int]]:
    directory, cells, facts, _ = cache.take_up()
    width, n_windows = int(cache.row[kernel.CELL_WORDS]), len(cache.spec.windows)
    grid = cells.reshape(-1, width)
    found: dict[tuple[Any, ...], dict[tuple[int, ...], int]] = {}
    used: list[int] = []
    for entry in directory[directory >= 0].tolist():
        used.append(entry)
        assert grid[entry, kernel.PLACE] == 0
        begin = kernel.KEY_WORDS
        words = grid[entry, begin : begin + len(cache.spec.key)]
        key = tuple(
            (word.view(np.float64) if is_float else word).item()
            for word, is_float in zip(words, floats, strict=True)
        )
        assert key not in found
        found[key] = {}
        cell = int(grid[entry, kernel.FIRST])
        while cell >= 0:
            used.append(cell)
            numbers = grid[cell, kernel.NUMBERS : kernel.NUMBERS + n_windows]
            counted = cache.row[kernel.KIND] == kernel.COUNTED
            n = int(grid[cell, kernel.NUMBERS + n_windows]) if counted else 1
            assert tuple(numbers.tolist()) not in found[key]
            found[key][tuple(numbers.tolist())] = n
            cell = int(grid[cell, kernel.NEXT])
        assert len(found[key]) == grid[entry, kernel.N_TUPLES] <= cache.row[kernel.MOST]
    assert len(set(used)) == len(used) == facts[kernel.FRESH] - facts[kernel.N_FREE]
    assert facts[kernel.N_ENTRIES] == len(found)
    assert facts[kernel.N_REFS] == sum(map(len, found.values()))
    return found


def possible_caches(
    work: JoinOp, orders: Sequence[Sequence[int]], n_bytes: int = PAGE_BYTES, ways: int = 1
) -> list[CacheSpec]:
    """All caches that fit some orders alone: plain, counted, keyed; shared ones as one."""
    n = len(orders)
    by_segment: dict[tuple[Any, ...], list[Segment]] = {}
    for i, order in enumerate(orders):
        for first in range(n - 1):
            for last in range(first, n - 1):
                windows = tuple(sorted(order[first : last + 1]))
                key = _key(work, (i, *order[:first]), windows)
                by_segment.setdefault((windows, key), []).append(Segment(i, first, last))
    found = []
    for (windows, key), segments in by_segment.items():
        others = [j for j in range(n) if j not in windows]
        for witnesses in chain.from_iterable(
            combinations(others, k) for k in range(len(others) + 1)
        ):
            for keyed in (False, True)[: 1 + (len(witnesses) == 1)]:
                readers = _fitting(work, orders, (windows, key, witnesses, keyed), segments)
                if readers:
                    id = f"{windows}|{key}|{witnesses}{keyed}"
                    found.append(
                        CacheSpec(id, windows, key, readers, n_bytes, witnesses, keyed, ways)
                    )
    return found


def _fitting(
    work: JoinOp,
    orders: Sequence[Sequence[int]],
    of: tuple[Any, ...],
    segments: Iterable[Segment],
) -> tuple[Segment, ...]:
    windows, key, witnesses, keyed = of
    ordered = replace(work, orders=tuple(map(tuple, orders)))
    found = []
    for one in segments:
        spec = CacheSpec("c", windows, key, (one,), PAGE_BYTES, witnesses, keyed)
        try:
            check_caches((spec,), (), ordered, len(orders))
        except ValueError:
            continue
        found.append(one)
    return tuple(found)


def _key(work: JoinOp, before: Iterable[int], windows: Iterable[int]) -> tuple[int, ...]:
    bits = _union(work, before) & _union(work, windows)
    return tuple(k for k in range(len(work.equal)) if bits >> k & 1)


def _union(work: JoinOp, inputs: Iterable[int]) -> int:
    found = 0
    for input in inputs:
        found |= classes_of(work, input)
    return found


def fitting_together(work: JoinOp, n: int, specs: Iterable[CacheSpec]) -> tuple[CacheSpec, ...]:
    """Some of the caches, each that fits those before it."""
    found: tuple[CacheSpec, ...] = ()
    for spec in specs:
        try:
            check_caches((*found, spec), (), work, n)
        except ValueError:
            continue
        found = (*found, spec)
    return found
