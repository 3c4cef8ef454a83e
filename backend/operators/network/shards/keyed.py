"""Which shard a tuple belongs to: by the value of a column, the same in every process."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints

#: Whole floats beyond these are hashed by their bits.
_WHOLE = float(1 << 62)


def shards_of(column: Any, n_shards: int) -> Ints:
    """int64[n]: for each value of an Arrow column the number of its shard; NULL: 0. Equal numbers
    of different types are in one shard."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if n_shards == 1 or not len(column):
        return np.zeros(len(column), np.int64)
    shards = mixed(_numbers(column))
    if n_shards & (n_shards - 1):
        shards %= np.uint64(n_shards)
    else:
        shards &= np.uint64(n_shards - 1)
    if column.null_count:
        shards[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return shards.view(np.int64)


def _numbers(column: pa.Array[Any]) -> NDArray[np.uint64]:
    """A number for each value, equal where values are."""
    kind = column.type
    if pa.types.is_string(kind):
        coded = column.dictionary_encode()
        texts = (text.encode("utf-8", "surrogatepass") for text in coded.dictionary.to_pylist())
        own = np.array([zlib.crc32(text) for text in texts] or [0], np.uint64)
        numbers: NDArray[np.uint64] = own[coded.indices.fill_null(0).to_numpy()]
        return numbers
    if pa.types.is_floating(kind):
        return _of_floats(pc.fill_null(column, 0).to_numpy().astype(np.float64))
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    whole: Ints = pc.fill_null(column, 0).to_numpy().astype(np.int64)
    return whole.view(np.uint64)


def _of_floats(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = values.view(np.uint64).copy()
    is_whole = (np.abs(values) < _WHOLE) & (values == np.floor(values))
    bits[is_whole] = values[is_whole].astype(np.int64).view(np.uint64)
    return bits


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread over all bits (the last step of splitmix64)."""
    spread = numbers ^ (numbers >> np.uint64(30))
    spread *= np.uint64(0xBF58476D1CE4E5B9)
    spread ^= spread >> np.uint64(27)
    spread *= np.uint64(0x94D049BB133111EB)
    spread ^= spread >> np.uint64(31)
    return spread
