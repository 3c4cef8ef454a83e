"""Which caches a join's pipelines may have (cards 9, 11, 13.4).

A cache over windows X with witnesses Y stands where the first |X ∪ Y| - 1 operators of the pipeline
of each of those windows join the others of them: what its segment's join gains and loses passes
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backend.operators.network.joins.join_tuning import CacheSpec, Segment
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.pipelines import classes_of, probe_orders
from storage.vocabulary.memory import PAGE_BYTES


def update_windows(spec: CacheSpec) -> tuple[int, ...]:
    """The windows whose pipelines update a cache; a keyed one is not changed by its witness."""
    return spec.windows if spec.keyed else (*spec.windows, *spec.witnesses)


def update_step(spec: CacheSpec) -> int:
    """The step of those pipelines behind which the cache is updated."""
    return len(spec.windows) + len(spec.witnesses) - 2


def is_counted(spec: CacheSpec) -> bool:
    """Whether its tuples have numbers of witnesses."""
    return bool(spec.witnesses) and not spec.keyed


def drops_empty(spec: CacheSpec) -> bool:
    """Whether an entry goes with its last tuple: a witness may be of an input that reads the cache,
    and is not seen by later tuples once it has gone (card 11 A)."""
    return is_counted(spec) and any(reader.pipeline in spec.witnesses for reader in spec.readers)


def check_caches(
    caches: Sequence[CacheSpec], shadows: Sequence[CacheSpec], work: JoinOp, n_inputs: int
) -> None:
    """Raises ValueError: a cache does not fit the probe orders, or two do not fit each other."""
    orders = probe_orders(work, n_inputs)
    for group in (caches, shadows):
        names = [cache.id for cache in group]
        if len(set(names)) < len(names):
            raise ValueError(f"the ids of caches are not unique: {', '.join(names)}")
    for spec in (*caches, *shadows):
        for why in _segment_faults(spec, work, orders):
            raise ValueError(f"cache {spec.id}: {why}")
    for spec in caches:
        for why in (*_own_faults(spec), *_window_faults(spec, work, orders)):
            raise ValueError(f"cache {spec.id}: {why}")
    for why in _common_faults(caches):
        raise ValueError(why)


def _segment_faults(
    spec: CacheSpec, work: JoinOp, orders: Sequence[Sequence[int]]
) -> Iterator[str]:
    """Segments that do not join its windows, or have another key."""
    n_inputs = len(orders)
    if not spec.readers:
        yield "no pipeline reads it"
    for reader in spec.readers:
        if not (
            0 <= reader.pipeline < n_inputs and 0 <= reader.first <= reader.last < n_inputs - 1
        ):
            yield f"{reader} is no part of a pipeline of {n_inputs - 1} steps"
            return
        order = orders[reader.pipeline]
        segment = tuple(sorted(order[reader.first : reader.last + 1]))
        if segment != spec.windows:
            yield f"{reader} joins inputs {segment}, not {spec.windows}"
            return
        before = _classes(work, (reader.pipeline, *order[: reader.first]))
        key = _members(before & _classes(work, spec.windows))
        if key != spec.key:
            yield f"the key of {reader} are classes {key}, not {spec.key}"


def _own_faults(spec: CacheSpec) -> Iterator[str]:
    if spec.n_bytes < 0 or spec.n_bytes % PAGE_BYTES:
        yield f"{spec.n_bytes} bytes are not whole pages of {PAGE_BYTES}"
    if spec.ways < 1:
        yield f"{spec.ways} ways; at least 1"
    if len(spec.windows) + len(spec.witnesses) < 2 or set(spec.windows) & set(spec.witnesses):
        yield f"windows {spec.windows} and witnesses {spec.witnesses} are not two or more inputs"
    if spec.keyed and any(
        (reader.pipeline,) != spec.witnesses or reader.first for reader in spec.readers
    ):
        yield "one with keys has one witness, whose pipeline alone begins with its segment"


def _window_faults(spec: CacheSpec, work: JoinOp, orders: Sequence[Sequence[int]]) -> Iterator[str]:
    """Pipelines that do not begin with its windows; readers that a hit would not tell all."""
    whole = {*spec.windows, *spec.witnesses}
    for window in sorted(whole):
        if set(orders[window][: len(whole) - 1]) != whole - {window}:
            yield f"the pipeline of input {window} does not begin with {sorted(whole - {window})}"
    for reader in spec.readers:
        if is_counted(spec) and reader.pipeline in spec.witnesses:
            around = _component(spec, work, reader.pipeline)
            shared = _classes(work, around) & _classes(work, spec.windows)
            if set(_members(shared)) - set(spec.key):
                yield f"what input {reader.pipeline} joins as a witness says more than the key"


def _component(spec: CacheSpec, work: JoinOp, input: int) -> set[int]:
    """The witnesses that are connected with one by classes, without its windows."""
    component, left = {input}, set(spec.witnesses) - {input}
    while more := {
        witness for witness in left if _classes(work, component) & classes_of(work, witness)
    }:
        component, left = component | more, left - more
    return component


def _common_faults(caches: Sequence[CacheSpec]) -> Iterator[str]:
    """Segments that overlap, or from which updates of others are hidden (card 11 D)."""
    read = [(spec, reader) for spec in caches for reader in spec.readers]
    for k, (spec, reader) in enumerate(read):
        for other, another in read[k + 1 :]:
            if reader.pipeline == another.pipeline and _overlap(reader, another):
                yield f"caches {spec.id} and {other.id} overlap in pipeline {reader.pipeline}"
        for other in caches:
            if reader.pipeline in update_windows(other) and _hides(spec, reader, other):
                yield (
                    f"cache {spec.id} hides from {other.id} what pipeline {reader.pipeline} brings"
                )


def _overlap(segment: Segment, other: Segment) -> bool:
    return segment.first <= other.last and other.first <= segment.last


def _hides(spec: CacheSpec, segment: Segment, other: CacheSpec) -> bool:
    """A hit leaps over the update; or keeps back tuples without witnesses of inputs that the other
    cache says nothing of."""
    step = update_step(other)
    if segment.first <= step < segment.last:
        return True
    known = {*other.windows, *other.witnesses}
    return step >= segment.last and is_counted(spec) and not set(spec.witnesses) <= known


def _classes(work: JoinOp, inputs: Sequence[int] | set[int]) -> int:
    classes = 0
    for input in inputs:
        classes |= classes_of(work, input)
    return classes


def _members(bits: int) -> tuple[int, ...]:
    return tuple(k for k in range(bits.bit_length()) if bits >> k & 1)
