"""How even the work of a batch was spread over its tasks, and over the shards of a unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from storage.tables.rows import StoredMatrix
from storage.vocabulary.load import COLUMNS, skew

#: What a part is measured by, the first that is told.
_BY: Final = ("busy_us", "tuples")
_WORDS: Final = {"busy_us": "processing time", "tuples": "tuples", "state_bytes": "state"}


class LoadPart(NamedTuple):
    """A task or shard. share: of the measure of all parts, [0, 1]; values: column -> value; busy:
    share of the time of the batch that it worked, the rest it was idle; None = not measured."""

    number: int
    share: float
    values: Mapping[str, float]
    busy: float | None = None


class LoadView(NamedTuple):
    """The parts of a unit's work, or of the batch's (unit ''). what: 'shard' or 'task'; by: what is
    compared, in words; skew: the largest over the mean, None = nothing was done."""

    unit: str
    what: str
    batch: int
    by: str
    skew: float | None
    columns: tuple[str, ...]
    parts: list[LoadPart]


def build_load(stored: StoredMatrix, unit: str, batch_ms: float = 0.0) -> LoadView:
    """Of a matrix of kind 'load'. batch_ms: its batch took, 0 = unknown."""
    matrix = stored.matrix
    columns = tuple(name for name in matrix.columns if name in COLUMNS)
    values = [dict(zip(matrix.columns, map(float, row), strict=True)) for row in matrix.values]
    measure = next((name for name in _BY if name in columns), columns[0])
    sizes = [own[measure] for own in values]
    total = sum(sizes)
    parts = [
        LoadPart(number, size / total if total else 0.0, own, _busy(own, batch_ms))
        for number, (size, own) in enumerate(zip(sizes, values, strict=True))
    ]
    what = "shard" if unit else "task"
    return LoadView(unit, what, stored.batch, _WORDS[measure], skew(sizes), columns, parts)


def _busy(own: Mapping[str, float], batch_ms: float) -> float | None:
    return min(1.0, own["busy_us"] / 1e3 / batch_ms) if batch_ms and "busy_us" in own else None


def words_of(view: LoadView) -> str:
    """'2.1 × the mean: shard 3 has 52 % of the processing time'."""
    if view.skew is None:
        return "nothing was done in this batch"
    largest = max(view.parts, key=lambda part: part.share)
    return (
        f"{view.skew:.2f} × the mean: {view.what} {largest.number} has {100 * largest.share:.0f} %"
    )
