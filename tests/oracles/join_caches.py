"""What caches in pipelines may hold, by its definition: joins of the windows as they are now.

A tuple is (number, row); windows are lists of those. A cache's entries are given as key -> {numbers
of a tuple of each of its windows: how many witnesses it is said to have}.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from backend.operators.network.joins.join_tuning import CacheSpec
from backend.operators.network.kinds.joins import JoinOp

Tuple: TypeAlias = tuple[int, tuple[Any, ...]]
Windows: TypeAlias = Sequence[Sequence[Tuple]]
Entries: TypeAlias = Mapping[tuple[Any, ...], Mapping[tuple[int, ...], int]]


def class_values(work: JoinOp, input: int, row: Sequence[Any]) -> dict[int, Any] | None:
    """Class -> the row's value in it; None: it has NULL in one, or two values."""
    found: dict[int, Any] = {}
    for group, members in enumerate(work.equal):
        for port, column in members:
            if port == input:
                value = row[column]
                if value is None or found.setdefault(group, value) != value:
                    return None
    return found


def combinations(
    work: JoinOp, windows: Windows, inputs: Sequence[int]
) -> Iterator[tuple[dict[int, int], dict[int, Any]]]:
    """The join of some inputs: number of the tuple of each, value of each class."""

    def extended(
        left: Sequence[int], numbers: dict[int, int], values: dict[int, Any]
    ) -> Iterator[tuple[dict[int, int], dict[int, Any]]]:
        if not left:
            yield numbers, values
            return
        for number, row in windows[left[0]]:
            own = class_values(work, left[0], row)
            if own is not None and all(values.get(k, v) == v for k, v in own.items()):
                yield from extended(left[1:], {**numbers, left[0]: number}, {**values, **own})

    yield from extended(inputs, {}, {})


def segment_join(
    work: JoinOp, windows: Windows, spec: CacheSpec, inputs: Sequence[int]
) -> dict[tuple[Any, ...], Counter[tuple[int, ...]]]:
    """Key -> the tuples of a cache's windows in the join of some inputs, and how often."""
    found: dict[tuple[Any, ...], Counter[tuple[int, ...]]] = {}
    for numbers, values in combinations(work, windows, inputs):
        key = tuple(values[group] for group in spec.key)
        own = tuple(numbers[window] for window in spec.windows)
        found.setdefault(key, Counter())[own] += 1
    return found


def check_entries(work: JoinOp, windows: Windows, spec: CacheSpec, entries: Entries) -> None:
    """Every entry is what its definition says: all tuples of the segment's join with its key; of a
    counted one those with witnesses, and how many."""
    with_witnesses = [*spec.windows, *spec.witnesses]
    counted = bool(spec.witnesses) and not spec.keyed
    found = segment_join(work, windows, spec, with_witnesses if counted else spec.windows)
    for key, tuples in entries.items():
        wanted = found.get(key, Counter())
        if counted:
            assert dict(tuples) == dict(wanted), (spec.id, key)
        else:
            assert set(tuples) == set(wanted), (spec.id, key)
    if spec.keyed:
        alive = segment_witnesses(work, windows, spec)
        assert set(entries) <= alive, spec.id
    if counted and any(one.pipeline in spec.witnesses for one in spec.readers):
        assert all(entries.values()), spec.id


def segment_witnesses(work: JoinOp, windows: Windows, spec: CacheSpec) -> set[tuple[Any, ...]]:
    """The keys that the one witness of a cache has tuples with."""
    (input,) = spec.witnesses
    rows = (class_values(work, input, row) for _, row in windows[input])
    return {tuple(one[group] for group in spec.key) for one in rows if one is not None}
