"""Which rows of a relation are on record: from all its elements, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Row = tuple[Any, ...]


def rows_kept(batches: Sequence[Sequence[tuple[Row, int]]], most: int) -> Counter[Row] | None:
    """How often each row is there after the last batch. None: since it was empty last there were
    more than ``most`` tuples after a batch, or one changed more than twice as many."""
    there: list[Row] = []
    is_known = True
    for batch in batches:
        before = Counter(there)
        for row, sign in batch:
            there.append(row) if sign > 0 else there.remove(row)
        after = Counter(there)
        n_changed = (after - before).total() + (before - after).total()
        is_known = not there or (is_known and len(there) <= most and n_changed <= 2 * most)
    return Counter(there) if is_known else None
