"""The matrices of joins under k-constraints, as they were recorded up to a moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from storage.reader import Reader
from storage.tables.rows import StoredMatrix

CONSTRAINT: Final = "constraint"
COMPONENTS: Final = "components"
#: Kinds of matrices; their rows are constraints, of the last one tuples.
DISTANCES: Final = "k distances"
SEEN: Final = "k seen"
LEDGER: Final = "k ledger"
KEPT: Final = "k kept"
#: Batches up to the moment whose distances are shown.
LAST_BATCHES: Final = 24
#: As a label, of distances without an upper end.
_ENDLESS: Final = ("∞", "inf")


def recent(reader: Reader, run: str, kind: str, at: int | None, unit: str) -> list[StoredMatrix]:
    """Those of the last batches, oldest first."""
    matrices = list[StoredMatrix]()
    for name in _names(reader, run, kind, unit):
        last = reader.matrix(run, name, at, unit)
        first = 0 if last is None else last.batch - LAST_BATCHES + 1
        while last is not None and last.batch >= first:
            matrices.append(last)
            last = reader.matrix(run, name, last.batch - 1, unit) if last.batch > 0 else None
    return sorted(matrices, key=lambda stored: stored.batch)


def _names(reader: Reader, run: str, kind: str, unit: str) -> list[str]:
    return [key.name for key in reader.matrix_keys(run, unit) if key.kind == kind]


def counted(matrices: Sequence[StoredMatrix], constraint: str) -> Mapping[float, int]:
    """Upper end of a bin -> distances of a constraint in it, over all batches, in order; bins
    without any are 0."""
    counts = Counter[str]()
    for stored in matrices:
        matrix = stored.matrix
        if constraint in matrix.rows:
            row = matrix.values[matrix.rows.index(constraint)]
            for label, n in zip(matrix.columns, row, strict=True):
                counts[label] += n or 0
    return dict(sorted((upper_end(label), int(n)) for label, n in counts.items()))


def upper_end(label: str) -> float:
    """The number of the label of a bin."""
    return float("inf") if label in _ENDLESS else float(label)
