"""What a tuning comes to in the tables of the kernel: points of pipelines, walks beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.joins import tuned_words as words
from backend.operators.network.joins.cache_rules import is_counted, update_step, update_windows
from backend.operators.network.joins.join_tables import JoinTables
from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.pipelines import classes_of, probe_orders


class TunedTables:
    """Of a join of n inputs under a tuning that fits it. lists: it is added to. shadows: those
    looked up in segments, by place in the table of shadows."""

    def __init__(
        self,
        work: JoinOp,
        tables: JoinTables,
        tuning: JoinTuning,
        shadows: Sequence[tuple[CacheSpec, Segment]],
        lists: list[int],
    ) -> None:
        self._work, self._tables, self._tuning, self._lists = work, tables, tuning, lists
        self._n = n = tables.n_inputs
        self._orders = probe_orders(work, n)
        self._classes = [classes_of(work, port) for port in range(n)]
        self._walks: list[tuple[int, int, int]] = []
        self._bindings: list[tuple[int, int, int, int]] = []
        self._drops: list[tuple[int, int]] = []
        self._paths: list[tuple[int, int, int]] = []
        #: int64[n, n-1, N_POINT].
        self.points: Ints = self._made_points(shadows)
        #: int64[n, N_PIPELINE].
        self.pipelines: Ints = np.array([self._pipeline(port) for port in range(n)], np.int64)
        #: Of each cache: its walk over witnesses, and what binds the classes of its windows.
        self.cache_walks: tuple[tuple[int, int, int, int], ...] = tuple(
            (*self._witness_walk(spec), *self._bound(spec.windows, self._union(spec.witnesses)))
            for spec in tuning.caches
        )
        self.walks = np.array(self._walks, np.int64).reshape(-1, 3)
        self.bindings = np.array(self._bindings, np.int64).reshape(-1, 4)
        self.drops = np.array(self._drops, np.int64).reshape(-1, 2)
        self.paths = np.array(self._paths, np.int64).reshape(-1, 3)

    # ------------------------------------------------------------------ points

    def _made_points(self, shadows: Sequence[tuple[CacheSpec, Segment]]) -> Ints:
        points = np.zeros((self._n, self._n - 1, words.N_POINT), np.int64)
        points[:, :, [words.READER, words.ENDS]] = -1
        for c, spec in enumerate(self._tuning.caches):
            for segment in spec.readers:
                points[segment.pipeline, segment.first, words.READER] = c
                points[segment.pipeline, segment.first, words.LAST] = segment.last
                points[segment.pipeline, segment.last, words.ENDS] = segment.first
                needed = self._needed_after(segment)
                bound = self._bound(spec.windows, needed)
                points[segment.pipeline, segment.first, words.BOUND : words.BOUND_END + 1] = bound
        for port in range(self._n):
            for step in range(self._n - 1):
                updates = [
                    c
                    for c, spec in enumerate(self._tuning.caches)
                    if port in update_windows(spec) and update_step(spec) == step
                ]
                place = points[port, step]
                place[words.UPDATES : words.UPDATES_END + 1] = self._listed(updates)
                looked = [
                    s
                    for s, (_, segment) in enumerate(shadows)
                    if (segment.pipeline, segment.first) == (port, step)
                ]
                place[words.SHADOWS : words.SHADOWS_END + 1] = self._listed(looked)
        return points

    def _needed_after(self, segment: Segment) -> int:
        """The classes whose values count behind a segment that was leapt over."""
        order = self._orders[segment.pipeline]
        before = self._union((segment.pipeline, *order[: segment.first]))
        needed = self._union(order[segment.last + 1 :])
        for spec in self._tuning.caches:
            if segment.pipeline in update_windows(spec) and update_step(spec) >= segment.last:
                needed |= sum(1 << group for group in spec.key)
        return needed & ~before

    def _bound(self, windows: Iterable[int], needed: int) -> tuple[int, int]:
        """Where columns of some windows stand that give classes their values."""
        begin = len(self._bindings)
        for window in windows:
            for key in self._tables.key_columns(window):
                if needed >> key.group & 1:
                    needed &= ~(1 << key.group)
                    self._bindings.append((window, key.column, key.group, key.as_float))
        return begin, len(self._bindings)

    # ------------------------------------------------------------------ pipelines

    def _pipeline(self, port: int) -> list[int]:
        tuning, caches = self._tuning, self._tuning.caches
        share = tuning.profile_prob[port] if tuning.profile_prob else 0.0
        shares = np.array([share, share if caches else 0.0], np.float64).view(np.int64).tolist()
        reads = [any(segment.pipeline == port for segment in spec.readers) for spec in caches]
        counted = [c for c, spec in enumerate(caches) if reads[c] and is_counted(spec)]
        keyed = [c for c, spec in enumerate(caches) if spec.keyed and port in spec.witnesses]
        drops = self._drop_walks(port) if tuning.two_phase else (0, 0)
        paths = self._profile_paths(port) if share else (0, 0)
        lists = *self._listed(counted), *self._listed(keyed)
        is_plain = drops[0] == drops[1] and not keyed and not self._knows_caches(port)
        n_open = int(np.diff(self.points[port][:, [words.SHADOWS, words.SHADOWS_END]]).sum())
        now = is_plain and not n_open
        return [*shares, tuning.seed, *drops, *paths, *lists, now, is_plain, n_open]

    def _knows_caches(self, port: int) -> bool:
        """Whether a pipeline looks a cache up on the way, or tells one."""
        points = self.points[port]
        has_updates = points[:, words.UPDATES_END] > points[:, words.UPDATES]
        return bool((has_updates | (points[:, words.READER] >= 0)).any())

    def _drop_walks(self, port: int) -> tuple[int, int]:
        """The windows in which an element of an input must have a partner. Behind an update of a
        cache none is looked for: the cache has to be told of what has no partner there."""
        begin = len(self._drops)
        updates = [
            update_step(spec) for spec in self._tuning.caches if port in update_windows(spec)
        ]
        known = self._classes[port]
        for step, target in enumerate(self._orders[port][: min(updates, default=self._n) + 1]):
            if known & self._classes[target]:
                at, same = self._tables.steps[port, step].tolist(), self._classes[target]
                goes_on = at[1] & same == known & same
                walk = (target, known, at[2]) if goes_on else self._tables.walk_step(target, known)
                self._drops.append((self._walked([walk])[0], step if goes_on else -1))
        return begin, len(self._drops)

    def _profile_paths(self, port: int) -> tuple[int, int]:
        """To every other input the shortest path of classes that are shared, or else itself."""
        begin, paths = len(self._paths), {port: ()}
        path_to: dict[int, tuple[int, ...]] = dict(paths)
        reached = [port]
        for at in reached:
            for other in range(self._n):
                if other not in path_to and self._classes[at] & self._classes[other]:
                    path_to[other] = (*path_to[at], other)
                    reached.append(other)
        for other in range(self._n):
            if other != port:
                walk = self._walked(self._steps((port,), path_to.get(other, (other,))))
                self._paths.append((other, *walk))
        return begin, len(self._paths)

    # ------------------------------------------------------------------ walks

    def _witness_walk(self, spec: CacheSpec) -> tuple[int, int]:
        if spec.keyed:
            known = sum(1 << group for group in spec.key)
            return self._walked([self._tables.walk_step(spec.witnesses[0], known)])
        return self._walked(self._steps(spec.windows, self._connected(spec)))

    def _connected(self, spec: CacheSpec) -> tuple[int, ...]:
        """The witnesses of a cache, those first that share classes with what was before."""
        known, left, connected = self._union(spec.windows), list(spec.witnesses), []
        while left:
            best = max(left, key=lambda witness: (bool(known & self._classes[witness]), -witness))
            left.remove(best)
            connected.append(best)
            known |= self._classes[best]
        return tuple(connected)

    def _steps(self, before: Iterable[int], targets: Iterable[int]) -> list[tuple[int, int, int]]:
        known, steps = self._union(before), []
        for target in targets:
            steps.append(self._tables.walk_step(target, known))
            known |= self._classes[target]
        return steps

    def _walked(self, steps: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
        begin = len(self._walks)
        self._walks += steps
        return begin, len(self._walks)

    def _listed(self, items: Sequence[int]) -> tuple[int, int]:
        begin = len(self._lists)
        self._lists += items
        return begin, len(self._lists)

    def _union(self, inputs: Iterable[int]) -> int:
        classes = 0
        for input in inputs:
            classes |= self._classes[input]
        return classes
