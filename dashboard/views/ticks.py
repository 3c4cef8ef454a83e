"""How long a tick of a run's streams is, where ticks are times. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.views.book import Book
from storage.vocabulary.records import Input


def tick_length_us(book: Book, unit: str, inputs: Sequence[Input]) -> float | None:
    """Of the network of a unit, whose entities say it; None: not all streams of the run have the
    time of day, so that ticks may be numbers."""
    for stream in inputs:
        types: Mapping[str, str] = dict(stream.schema)
        if types.get(stream.timestamp) not in ("timestamp", "date"):
            return None
    parts = (book[id] for id in book)
    ticks = (part.properties.get("tick_us") for part in parts if part.unit_id == unit)
    return next((float(tick) for tick in ticks if tick is not None), None)
