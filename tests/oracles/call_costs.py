"""The line of a filter's timings with the least sum of relative deviations: all corners tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median

Row = tuple[int, float]
Line = tuple[float, float]


def off(line: Line, rows: Sequence[Row], before: float) -> float:
    """Of (fixed, per tuple): the sum of |us - line| / us, and of the one timing more."""
    fixed, per_tuple = line
    deviations = sum(abs(us - fixed - per_tuple * n) / us for n, us in rows)
    return deviations + abs(fixed - before) / median(us for _, us in rows)


def lines(rows: Sequence[Row], before: float) -> Iterator[Line]:
    """Through two timings, the one more without tuples among them; or one, where a part is 0."""
    for (n, us), (m, other) in combinations([(0, before), *rows], 2):
        if n != m:
            per_tuple = (other - us) / (m - n)
            fixed = us - per_tuple * n
            if per_tuple >= 0 and fixed >= 0:
                yield fixed, per_tuple
    for n, us in rows:
        yield 0.0, us / n
        yield us, 0.0
    yield before, 0.0
    yield 0.0, 0.0
