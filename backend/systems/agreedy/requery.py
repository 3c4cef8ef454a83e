"""A query with other filters takes over: what of the profile can be carried over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backend.model.filters import Filter
from backend.systems.agreedy.profiler import Profiler


class Carried(NamedTuple):
    """The profiler of the new filters; words: what was kept and what was flushed."""

    profiler: Profiler
    words: str


def carried_over(old: Profiler, filters: Sequence[Filter]) -> Carried:
    """Filters are the same when their conditions are.

    Common filters keep their relative order, new ones go to the end of their segment. The window
    is kept when filters were only removed and every tuple of it is complete: then it is the window
    the fewer filters would have had. Otherwise it is flushed, since bits are missing.
    """
    found = Profiler(filters)
    index_of = {f.condition: i for i, f in enumerate(old.filters)}
    before = [index_of.get(f.condition) for f in found.filters]
    place = {x: position for position, x in enumerate(old.view.order)}
    last = len(place)
    order = sorted(
        range(len(before)),
        key=lambda x: (x >= found.n_native, _place(before[x], place, last)),
    )
    for new, known in zip(found.filters, before, strict=True):
        if known is not None:
            found.costs.add({new.name: old.costs.samples(old.names[known])})
    held = len(old.window)
    common = [x for x in before if x is not None]
    if held and len(common) == len(before) and common and old.window.is_complete:
        found.window = old.window.without(common)
        words = f"{len(found.window)} of {held} profile tuples kept"
    else:
        words = f"{held} profile tuples flushed"
    found.adopt(order)
    return Carried(found, words)


def _place(known: int | None, place: dict[int, int], last: int) -> int:
    return last if known is None else place[known]
