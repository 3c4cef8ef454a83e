"""Constructs and plans as the flat arrays the matching kernels take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from backend.model.events import MicroArrow
from backend.model.schema import FLOAT_TYPES
from backend.operators.selection.layout import (
    ByTable,
    ByThresholds,
    ConstructRows,
    Layout,
    Search,
    Texts,
    TileRows,
    make_layout,
)
from backend.systems.asc.construct import Construct
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.interning import TILE_WORDS

#: Bitmaps of a plan are laid out whole, not in tiles, when they take no more than this: a tuple
#: then reads one stretch of memory a construct instead of one a tile.
WHOLE_BYTES: Final = 1 << 26
#: Widest span of integer thresholds that gets a table.
TABLE_SPAN: Final = 1 << 16
_LEAST, _MOST = -(2**63), 2**63 - 1
_EPOCH_DAY, _EPOCH = date(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


def layout_of(
    constructs: ConstructSet, order: Sequence[str], arrows: Sequence[MicroArrow] = ()
) -> Layout:
    """The layout of a plan with this order and these micro-arrows.

    Raises OverflowError when its bitmaps have more than 2^31 words, KeyError for an arrow between
    attributes that are not in the order.
    """
    places = {attribute: place for place, attribute in enumerate(order)}
    chosen = [constructs.constructs[attribute] for attribute in order]
    n_words = constructs.n_words
    is_whole = sum(c.n_regions for c in chosen) * n_words * 8 <= WHOLE_BYTES
    return make_layout(
        constructs.initial,
        n_words if is_whole else TILE_WORDS,
        [_whole_rows(c) if is_whole else _rows(c, n_words) for c in chosen],
        [(places[a.attribute], a.region, places[a.target]) for a in arrows],
    )


def _rows(construct: Construct, n_words: int) -> ConstructRows:
    tiles = [
        None
        if tile is None
        else TileRows(
            construct.qrb.rows_of(number),
            tile.widened(min(TILE_WORDS, n_words - number * TILE_WORDS)).rows,
        )
        for number, tile in enumerate(construct.tiles)
    ]
    return ConstructRows(construct.n_regions, construct.qub, tiles)


def _whole_rows(construct: Construct) -> ConstructRows:
    """As one tile; regions with equal rows in every tile share a row."""
    used = [number for number, tile in enumerate(construct.tiles) if tile is not None]
    numbers = np.column_stack([construct.qrb.rows_of(number) for number in used])
    _, first, row_of = np.unique(numbers, axis=0, return_index=True, return_inverse=True)
    rows = np.ascontiguousarray(construct.qrb[first])
    tile = TileRows(row_of.reshape(-1).astype(np.int32), rows)
    return ConstructRows(construct.n_regions, construct.qub, [tile])


def search_of(construct: Construct) -> Search | Texts:
    """How the attribute's values find their regions.

    Values are given as strings, as int64 (booleans as 0 and 1, dates in days, timestamps in
    microseconds since 1970 UTC) or as float64.
    """
    if construct.type == "string":
        return Texts(cast("tuple[str, ...]", construct.constants))
    if construct.type in FLOAT_TYPES:
        constants = [t for c in construct.constants for t in _real_thresholds(cast("float", c))]
        return ByThresholds(np.array(constants, dtype=np.float64))
    as_integer = _INTEGERS.get(construct.type, lambda constant: constant)
    numbers = [as_integer(constant) for constant in construct.constants]
    pairs = [t for c in numbers for t in _integer_thresholds(c)]
    thresholds = np.array([max(t, _LEAST) for t in pairs if t <= _MOST], dtype=np.int64)
    return _by_table(thresholds) or ByThresholds(thresholds)


def _by_table(thresholds: NDArray[np.int64]) -> ByTable | None:
    if not len(thresholds):
        return ByTable(0, np.ones(1, dtype=np.int32))
    low, high = int(thresholds[0]) - 1, int(thresholds[-1])
    if high - low > TABLE_SPAN or low < _LEAST:
        return None
    values = np.arange(low, high + 1, dtype=np.int64)
    reached = np.searchsorted(thresholds, values, side="right")
    return ByTable(low, (reached + 1).astype(np.int32))


def _integer_thresholds(constant: float) -> tuple[int, int]:
    """The least integers >= and > a constant; beyond all int64 where there is none."""
    if abs(constant) == math.inf:
        return (_MOST + 1, _MOST + 1) if constant > 0 else (_LEAST, _LEAST)
    return math.ceil(constant), math.floor(constant) + 1


def _real_thresholds(constant: float) -> tuple[float, float]:
    """The least doubles >= and > a constant, NaN where there is none; exact for any integer."""
    try:
        nearest = float(constant)
    except OverflowError:
        nearest = math.inf if constant > 0 else -math.inf
    if nearest == constant:
        return nearest, math.nan if nearest == math.inf else math.nextafter(nearest, math.inf)
    above = nearest if nearest > constant else math.nextafter(nearest, math.inf)
    return above, above


def _microseconds(moment: datetime) -> int:
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


_INTEGERS: Final[dict[str, Callable[[Any], Any]]] = {
    "boolean": int,
    "date": lambda day: (day - _EPOCH_DAY).days,
    "timestamp": _microseconds,
}
