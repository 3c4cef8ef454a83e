"""Net changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.blocks import Block, Column64
from backend.operators.network.strings import Strings


def _key(column: Column64, row: int) -> object:
    value = column.values[row]
    return (bool(column.is_valid[row]), "nan" if value != value else value.item())


def net(block: Block, fields: Sequence[Attribute], strings: Strings) -> Block:
    """Provisional."""
    counts: dict[tuple[object, ...], list[int]] = {}
    for row in range(len(block)):
        key = (int(block.tau[row]), *(_key(c, row) for c in block.columns))
        counts.setdefault(key, [0, row])[0] += int(block.sign[row])
    rows, signs = [], []
    for n, row in counts.values():
        rows += [row] * abs(n)
        signs += [1 if n > 0 else -1] * abs(n)
    found = block.take(np.array(rows, np.int64))
    return Block(found.tau, np.array(signs, np.int8), found.columns)
