"""Over what the values of a moment are averages, when its own are no longer kept."""

from __future__ import annotations

from dashboard.components.formats import show
from storage.tables.rows import RollupSpan


def stretch_words(span: RollupSpan | None) -> str:
    """'averages of 10 s, 47 batches'; '' where values are those of the batch itself."""
    if span is None:
        return ""
    minutes, seconds = divmod(span.length_s, 60)
    length = f"{seconds} s" if seconds else f"{minutes} min"
    n = "1 batch" if span.n_batches == 1 else f"{show(span.n_batches, 'int')} batches"
    return f"averages of {length}, {n}"
