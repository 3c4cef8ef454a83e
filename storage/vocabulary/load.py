"""How the work of a batch was spread over its parts: tasks of a batch, shards of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from storage.vocabulary.records import Matrix

#: Name and kind of the matrix: a row for each part, by number.
LOAD: Final = "load"
#: Columns, as far as a part tells them -> unit.
COLUMNS: Final[Mapping[str, str]] = {"tuples": "tuples", "busy_us": "us", "state_bytes": "bytes"}


def load_matrix(parts: Sequence[Mapping[str, float]]) -> tuple[Matrix, ...]:
    """parts: column -> value of each, the same columns in all. Nothing where there is one part."""
    if len(parts) < 2:
        return ()
    columns = tuple(name for name in COLUMNS if name in parts[0])
    values = tuple(tuple(float(part[name]) for name in columns) for part in parts)
    return (Matrix(LOAD, LOAD, tuple(map(str, range(len(parts)))), columns, values),)


def skew(sizes: Sequence[float]) -> float | None:
    """The largest part over the mean: 1 = all alike; None where there is nothing."""
    total = sum(sizes)
    return max(sizes) * len(sizes) / total if total else None
