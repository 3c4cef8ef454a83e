"""An MJoin with caches by the definitions of [B05] §5.1 and §5.4, which counts what it does.

Slow and obvious: windows are lists, caches dictionaries without a limit, every element is profiled
and every operation takes 100 ns. Plain and keyed caches only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from backend.operators.network.joins.join_tuning import (
    FIRST_BLOCKS,
    RUN_BLOCKS,
    CacheCounts,
    CacheSpec,
    JoinProfile,
    JoinTuning,
    PipelineProfile,
    Segment,
    ShadowCounts,
)
from backend.systems.joins.decide.shape import JoinShape

Row = tuple[int, ...]
#: Input -> its tuple.
Composite = dict[int, Row]
STEP_NS = 100


@dataclass
class _Cache:
    spec: CacheSpec
    entries: dict[Row, list[Composite]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, n: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + n


@dataclass
class _Shadow:
    keys: set[Row] = field(default_factory=set)
    n: int = 0
    n_run: int = 0
    n_before: int = 0
    n_probes: int = 0
    misses: int = 0
    n_blocks: int = 0
    n_keys: int = 0
    n_runs: int = 0


def _gone_on(shadow: _Shadow) -> _Shadow:
    """With nothing counted, at the block where it was."""
    return replace(shadow, n_probes=0, misses=0, n_blocks=0, n_keys=0, n_runs=0)


class CountingJoin:
    """A join. places: of each class the (input, column) that are equal."""

    def __init__(self, shape: JoinShape, places: Sequence[Sequence[tuple[int, int]]]) -> None:
        self.shape, self.places = shape, [dict(one) for one in places]
        self.windows: list[list[Row]] = [[] for _ in range(shape.n)]
        self._found: dict[tuple[int, int, int], list[Row]] = {}
        self.tuning = JoinTuning()
        self.caches: dict[str, _Cache] = {}
        self.n_operations = 0
        self._shadows: dict[tuple[str, Segment], _Shadow] = {}
        self._clear()

    def tune(self, tuning: JoinTuning) -> None:
        """Caches that stay keep what they hold, shadows the block they are at."""
        self.tuning = tuning
        kept = self.caches
        self.caches = {one.id: _Cache(one) for one in tuning.caches}
        for id, cache in self.caches.items():
            if id in kept:
                cache.entries = kept[id].entries
        self._clear()

    def _clear(self) -> None:
        n = self.shape.n
        self._entering: list[list[list[int]]] = [[] for _ in range(n)]
        self._dropped: list[list[int]] = [[] for _ in range(n)]
        self._signs = [[0, 0] for _ in range(n)]
        kept = self._shadows
        readers = [(one.id, reader) for one in self.tuning.shadows for reader in one.readers]
        self._shadows = {key: _gone_on(kept.get(key, _Shadow())) for key in readers}
        for cache in self.caches.values():
            cache.counts = {}

    # ------------------------------------------------------------------ executing

    def element(self, input: int, row: Row, sign: int) -> list[Composite]:
        """Join an element to the end, then have it in its window, or take it from there."""
        self._profile(input, row)
        self._signs[input][sign < 0] += 1
        found = self._run(input, [{input: row}], 0, sign)
        if sign > 0:
            self.windows[input].append(row)
            for column, value in enumerate(row):
                self._found.setdefault((input, column, value), []).append(row)
        else:
            self.windows[input].remove(row)
            for column, value in enumerate(row):
                self._found[input, column, value].remove(row)
            self._forget_unwitnessed(input)
        return found

    def _run(self, input: int, rows: list[Composite], step: int, sign: int) -> list[Composite]:
        order = self.tuning.orders[input]
        while step < len(order):
            reader = next((r for r in self._readers() if r[1][:2] == (input, step)), None)
            if reader is not None:
                cache, segment = reader
                rows = [hit for one in rows for hit in self._look_up(cache, segment, one, sign)]
                step = segment.last + 1
            else:
                rows = self._step(rows, order[step])
                step += 1
            self._update(input, rows, step, sign)
        return rows

    def _step(self, rows: list[Composite], target: int) -> list[Composite]:
        found = [
            {**one, target: row}
            for one in rows
            for row in self._near(one, target)
            if self._agrees(one, target, row)
        ]
        self.n_operations += len(rows) + len(found)
        return found

    def _look_up(
        self, cache: _Cache, segment: Segment, one: Composite, sign: int
    ) -> list[Composite]:
        key = self._key(cache.spec, one)
        cache.count("probes")
        if key in cache.entries:
            cache.count("hits")
            self.n_operations += len(cache.entries[key])
            return [{**one, **x} for x in cache.entries[key]]
        rows = [one]
        for target in self.tuning.orders[segment.pipeline][segment.first : segment.last + 1]:
            rows = self._step(rows, target)
        cache.entries[key] = [{i: row[i] for i in cache.spec.windows} for row in rows]
        cache.count("creates")
        return rows

    def _update(self, input: int, rows: list[Composite], step: int, sign: int) -> None:
        """Tell caches of the deltas that come by after a prefix."""
        for cache in self.caches.values():
            spec = cache.spec
            told_by = spec.windows if spec.keyed else (*spec.windows, *spec.witnesses)
            if input not in told_by or step != len(spec.windows) + len(spec.witnesses) - 1:
                continue
            for row in rows:
                entry = cache.entries.get(self._key(spec, row))
                x = {i: row[i] for i in spec.windows}
                cache.count("inserts" if sign > 0 else "deletes")
                if entry is not None and sign > 0 and not (spec.keyed and x in entry):
                    entry.append(x)
                elif entry is not None and sign < 0 and x in entry:
                    entry.remove(x)

    def _forget_unwitnessed(self, input: int) -> None:
        for cache in self.caches.values():
            if cache.spec.keyed and input in cache.spec.witnesses:
                alive = {self._key(cache.spec, {input: row}) for row in self.windows[input]}
                for key in [key for key in cache.entries if key not in alive]:
                    del cache.entries[key]

    # ------------------------------------------------------------------ profiling

    def _profile(self, input: int, row: Row) -> None:
        """What an element does without caches."""
        before = self.n_operations
        rows, entering = [{input: row}], [1]
        for step, target in enumerate(self.tuning.orders[input]):
            for spec in self.tuning.shadows:
                for reader in spec.readers:
                    if (reader.pipeline, reader.first) == (input, step):
                        self._shadow(spec, reader, rows)
            rows = self._step(rows, target)
            entering.append(len(rows))
        self._entering[input].append(entering)
        self._dropped[input].append(self._drops(input, row))
        self.n_operations = before

    def _drops(self, input: int, row: Row) -> int:
        bits = 0
        for end in range(self.shape.n):
            rows: list[Composite] = [{input: row}]
            for target in self.shape.path(input, end):
                rows = self._step(rows, target)
            bits |= (not rows) << end
        return bits

    def _shadow(self, spec: CacheSpec, reader: Segment, rows: list[Composite]) -> None:
        shadow = self._shadows[spec.id, reader]
        for one in rows:
            shadow.keys.add(self._key(spec, one))
            shadow.n += 1
            if shadow.n == self.tuning.block_probes:
                self._end_block(shadow)

    def _end_block(self, shadow: _Shadow) -> None:
        shadow.n_run += 1
        if shadow.n_run > FIRST_BLOCKS:
            shadow.n_probes += shadow.n
            shadow.misses += len(shadow.keys) - shadow.n_before
            shadow.n_blocks += 1
        shadow.n_before = len(shadow.keys)
        shadow.n = 0
        if shadow.n_run == RUN_BLOCKS:
            shadow.n_keys, shadow.n_runs = shadow.n_keys + len(shadow.keys), shadow.n_runs + 1
            shadow.keys, shadow.n_run, shadow.n_before = set(), 0, 0

    def profile(self) -> JoinProfile:
        """Since the last one."""
        shadows: dict[str, dict[Segment, ShadowCounts]] = {}
        for (id, reader), one in self._shadows.items():
            told = one.n_probes, float(one.misses), one.n_blocks, float(one.n_keys), one.n_runs
            shadows.setdefault(id, {})[reader] = ShadowCounts(*told)
        caches = {id: self._counts(cache) for id, cache in self.caches.items()}
        pipelines = tuple(self._pipeline(input) for input in range(self.shape.n))
        self._clear()
        return JoinProfile(pipelines, caches, shadows)

    def _pipeline(self, input: int) -> PipelineProfile:
        n, (n_plus, n_minus) = self.shape.n, self._signs[input]
        entering = np.array(self._entering[input], np.int64).reshape(-1, n)
        busy = STEP_NS * (entering[:, :-1] + entering[:, 1:])
        dropped = np.array(self._dropped[input], np.uint64)
        zeros = np.zeros(len(entering), np.int64)
        n_probes, n_built = int(entering[:, :-1].sum()), int(entering[:, 1:].sum())
        return PipelineProfile(
            n_plus, n_minus, n_probes, n_built, 0, zeros, entering, busy, 0 * busy, dropped
        )

    def _counts(self, cache: _Cache) -> CacheCounts:
        held, done = cache.entries, cache.counts
        return CacheCounts(
            probes=done.get("probes", 0),
            hits=done.get("hits", 0),
            creates=done.get("creates", 0),
            inserts=done.get("inserts", 0),
            deletes=done.get("deletes", 0),
            n_entries=len(held),
            n_refs=sum(map(len, held.values())),
            n_bytes=64 * len(held),
        )

    # ------------------------------------------------------------------ parts

    def _readers(self) -> list[tuple[_Cache, Segment]]:
        return [(cache, r) for cache in self.caches.values() for r in cache.spec.readers]

    def _near(self, one: Composite, target: int) -> list[Row]:
        """The tuples of an input that agree in one attribute; all where there is none."""
        for places in self.places:
            for input, column in places.items():
                if target in places and input in one:
                    return self._found.get((target, places[target], one[input][column]), [])
        return self.windows[target]

    def _agrees(self, one: Composite, target: int, row: Row) -> bool:
        return all(
            one[input][column] == row[places[target]]
            for places in self.places
            if target in places
            for input, column in places.items()
            if input in one
        )

    def _key(self, spec: CacheSpec, one: Composite) -> Row:
        """The values of the classes of the key."""
        values = []
        for number in spec.key:
            places = self.places[number]
            input = next(i for i in places if i in one)
            values.append(one[input][places[input]])
        return tuple(values)
