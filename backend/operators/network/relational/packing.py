"""Tuples as rows of 64-bit words: equal words, equal tuples (NULL equals NULL)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.operators.network.core.blocks import Column64, Ints

_FLAGS = 64


def n_words(n_columns: int) -> int:
    """Words of a packed tuple: one a value, then one for every 64 flags of NULL."""
    return n_columns + (n_columns + _FLAGS - 1) // _FLAGS


def pack(columns: Sequence[Column64], n: int) -> Ints:
    """int64[n, n_words]: the bits of n values a column, then a set flag for every NULL."""
    n_columns = len(columns)
    words = np.zeros((n, n_words(n_columns)), np.int64)
    for place, column in enumerate(columns):
        words[:, place] = column.values.view(np.int64)
        if column.valid is not None:
            flag = (~column.valid).astype(np.int64) << (place % _FLAGS)
            words[:, n_columns + place // _FLAGS] |= flag
    return words


def unpack(words: Ints, dtypes: Sequence[np.dtype[Any]]) -> tuple[Column64, ...]:
    """The columns of packed tuples. words: int64[n, n_words]."""
    flags = words[:, len(dtypes) :]
    columns = []
    for place, dtype in enumerate(dtypes):
        is_null = (flags[:, place // _FLAGS] >> (place % _FLAGS)) & 1 == 1
        values = np.ascontiguousarray(words[:, place]).view(dtype)
        columns.append(Column64(values, ~is_null if is_null.any() else None))
    return tuple(columns)
