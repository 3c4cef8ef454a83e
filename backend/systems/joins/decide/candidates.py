"""Which caches a join may have, given the orders of its pipelines. [B05] §5.4, §5.5, §5.7

A segment of a pipeline may be cached when the deltas of its join come by for free: when its inputs
X are a prefix set (the pipeline of each begins with the others), or X together with witnesses Y is
one (globally-consistent caches X ⋉ Y). Segments with the same inputs and key in several pipelines
share one cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

from backend.operators.network.joins.join_tuning import CacheSpec, Segment
from backend.systems.joins.decide.shape import JoinShape, Orders


@dataclass(frozen=True)
class CacheCandidate:
    """A cache a join may have. readers: all segments it may be looked up for; a cache that is used
    has some of them. The other fields are those of ``CacheSpec``."""

    windows: tuple[int, ...]
    key: tuple[int, ...]
    readers: tuple[Segment, ...]
    witnesses: tuple[int, ...] = ()
    keyed: bool = False

    @cached_property
    def id(self) -> str:
        """Stable: inputs and key, then witnesses and the pipeline of a relaxed one."""
        inputs, key = (",".join(map(str, numbers)) for numbers in (self.windows, self.key))
        if not self.witnesses:
            return f"{inputs}|{key}"
        witnesses = ",".join(map(str, self.witnesses))
        return f"{inputs}|{key}~{witnesses}@{self.readers[0].pipeline}"

    @cached_property
    def closure(self) -> frozenset[int]:
        """X ∪ Y, the prefix set whose pipelines keep the cache up to date."""
        return frozenset((*self.windows, *self.witnesses))

    @property
    def update_step(self) -> int:
        """After this step (from 0) of the pipeline of each input of the closure deltas come by."""
        return len(self.closure) - 2

    @property
    def told_by(self) -> frozenset[int]:
        """The inputs whose pipelines update it; a keyed one is not changed by its witness."""
        return frozenset(self.windows) if self.keyed else self.closure

    @property
    def n_counted(self) -> int:
        """Inputs whose witnesses are counted for each of its tuples."""
        return 0 if self.keyed else len(self.witnesses)

    def hides(self, reader: Segment, other: CacheCandidate) -> bool:
        """Whether a hit of ``reader`` keeps deltas from another cache, so that both at once would
        be wrong. §5.7, erratum 7 D

        A hit leaps over the update, or keeps back tuples that have no witness in inputs of which
        the other cache says nothing.
        """
        if reader.pipeline not in other.told_by:
            return False
        step = other.update_step
        return reader.first <= step < reader.last or (
            step >= reader.last
            and self.n_counted > 0
            and not other.closure.issuperset(self.witnesses)
        )

    def spec(self, readers: Sequence[Segment], n_bytes: int, ways: int = 1) -> CacheSpec:
        """The cache with these readers and so much memory."""
        return CacheSpec(
            id=self.id,
            windows=self.windows,
            key=self.key,
            readers=tuple(readers),
            n_bytes=n_bytes,
            witnesses=self.witnesses,
            keyed=self.keyed,
            ways=ways,
        )

    def said(self, shape: JoinShape) -> str:
        """For people: ``R ⋈ S``, ``(S ⋈ T) ⋉ R``."""
        joined = " ⋈ ".join(shape.names[i] for i in self.windows)
        if not self.witnesses:
            return joined
        return f"({joined}) ⋉ {' ⋈ '.join(shape.names[i] for i in self.witnesses)}"


def prefix_sets(orders: Orders) -> tuple[frozenset[int], ...]:
    """The sets A of 2..n-1 inputs with the prefix invariant: the first |A|-1 operators of the
    pipeline of each of them are the others. By size, then by their inputs; a laminar family.

    Example 5.5.1 of [B05], six inputs, counted from 1:

    >>> pipelines = ("23456", "13546", "21456", "51236", "42316", "21453")
    >>> orders = tuple(tuple(int(name) - 1 for name in one) for one in pipelines)
    >>> ["".join(str(i + 1) for i in sorted(inputs)) for inputs in prefix_sets(orders)]
    ['12', '45', '123', '12345']
    """
    n = len(orders)
    sets = {
        prefix
        for size in range(2, n)
        for prefix in ({frozenset((i, *orders[i][: size - 1])) for i in range(n)})
        if is_prefix_set(prefix, orders)
    }
    return tuple(sorted(sets, key=lambda inputs: (len(inputs), sorted(inputs))))


def is_prefix_set(inputs: frozenset[int], orders: Orders) -> bool:
    """Whether deltas of the join of these inputs come by in the pipelines of all of them."""
    return all(inputs - {i} == set(orders[i][: len(inputs) - 1]) for i in inputs)


def segment_inputs(reader: Segment, orders: Orders) -> tuple[int, ...]:
    """The inputs a segment joins, in its order."""
    return orders[reader.pipeline][reader.first : reader.last + 1]


@lru_cache(maxsize=64)
def candidates(shape: JoinShape, orders: Orders, quota: int = 0) -> tuple[CacheCandidate, ...]:
    """All prefix candidates and, when these are fewer than ``quota`` (m), relaxed ones up to it."""
    plain = prefix_candidates(shape, orders)
    relaxed = relaxed_candidates(shape, orders)
    return (
        *plain,
        *(candidate for candidate, _ in zip(relaxed, range(quota - len(plain)), strict=False)),
    )


def prefix_candidates(shape: JoinShape, orders: Orders) -> tuple[CacheCandidate, ...]:
    """One for each prefix set and key, with all segments that share it."""
    readers_of: dict[tuple[frozenset[int], tuple[int, ...]], list[Segment]] = {}
    for inputs in prefix_sets(orders):
        for pipeline, order in enumerate(orders):
            reader = _segment_of(inputs, pipeline, order)
            if reader is not None:
                key = shape.key((pipeline, *order[: reader.first]), inputs)
                readers_of.setdefault((inputs, key), []).append(reader)
    return tuple(
        CacheCandidate(tuple(sorted(inputs)), key, tuple(readers))
        for (inputs, key), readers in readers_of.items()
    )


def relaxed_candidates(shape: JoinShape, orders: Orders) -> Iterator[CacheCandidate]:
    """Globally-consistent caches, those of most inputs first (§5.7): all but one, all but two..."""
    sets = (*prefix_sets(orders), frozenset(range(shape.n)))
    for size in range(shape.n - 1, 1, -1):
        for pipeline in range(shape.n):
            for first in range(shape.n - size):
                reader = Segment(pipeline, first, first + size - 1)
                inputs = frozenset(segment_inputs(reader, orders))
                if inputs not in sets:
                    yield from _relaxed(shape, orders, reader, sets)


def _relaxed(
    shape: JoinShape, orders: Orders, reader: Segment, sets: Sequence[frozenset[int]]
) -> Iterator[CacheCandidate]:
    """The cache of a segment with the fewest witnesses that make it a prefix set; none where a hit
    could be incomplete (erratum 7 C)."""
    order, inputs = orders[reader.pipeline], frozenset(segment_inputs(reader, orders))
    closure = next(prefix for prefix in sets if inputs < prefix)
    witnesses = closure - inputs
    key = shape.key((reader.pipeline, *order[: reader.first]), inputs)
    if reader.pipeline in witnesses:
        near = shape.component(reader.pipeline, witnesses)
        if not set(shape.key(near, inputs)) <= set(key):
            return
    keyed = witnesses == {reader.pipeline} and reader.first == 0
    yield CacheCandidate(tuple(sorted(inputs)), key, (reader,), tuple(sorted(witnesses)), keyed)


def _segment_of(inputs: frozenset[int], pipeline: int, order: Sequence[int]) -> Segment | None:
    """Where a pipeline joins exactly these inputs, one behind the other."""
    if pipeline in inputs:
        return None
    first = min(order.index(i) for i in inputs)
    last = first + len(inputs) - 1
    return Segment(pipeline, first, last) if set(order[first : last + 1]) == inputs else None


def conflicts(chosen: Sequence[tuple[CacheCandidate, Segment]]) -> Iterator[tuple[int, int]]:
    """Pairs of chosen readers (by place) that cannot be used at once: their segments overlap, or a
    hit of one hides an update of the other."""
    for a, b in combinations(range(len(chosen)), 2):
        (cache, first), (other, second) = chosen[a], chosen[b]
        if overlap(first, second) or cache.hides(first, other) or other.hides(second, cache):
            yield a, b


def overlap(first: Segment, second: Segment) -> bool:
    """Whether two segments have an operator in common."""
    same = first.pipeline == second.pipeline
    return same and first.first <= second.last and second.first <= first.last
