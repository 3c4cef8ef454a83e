"""Joins by their definition: all combinations of the tuples that are there at a tick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

from backend.operators.network.kinds.joins import JoinOp
from tests.oracles.network_windows import Row


def join_at(
    work: JoinOp,
    bags: Sequence[Counter[Row]],
    residual: Callable[[Row], bool] = lambda row: True,
) -> Counter[Row]:
    """The bag of a join of bags; nothing is equal to None, numbers are compared as they are."""
    found: Counter[Row] = Counter()
    for rows in product(*bags):
        whole = sum(rows, ())
        if _agrees(work, rows) and residual(whole):
            count = 1
            for row, bag in zip(rows, bags, strict=True):
                count *= bag[row]
            found[whole] += count
    return found


def _agrees(work: JoinOp, rows: Sequence[Row]) -> bool:
    for members in work.equal:
        values = [rows[port][place] for port, place in members]
        if None in values or any(value != values[0] for value in values):
            return False
    return True
