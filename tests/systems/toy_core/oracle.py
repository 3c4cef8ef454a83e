"""When orders turn, told in the slowest way."""

from __future__ import annotations

from collections.abc import Sequence


def turns(batches: Sequence[int], every: int) -> list[int]:
    """After which batches the orders of a join turn. batches: tuples of each."""
    turned: list[int] = []
    for batch in range(len(batches)):
        since = turned[-1] + 1 if turned else 0
        if sum(batches[since : batch + 1]) >= every:
            turned.append(batch)
    return turned
