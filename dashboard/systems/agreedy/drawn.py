"""Components of the Matrix page of pipelined filters, drawn by modules/view_*.js."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.components.drawn import NAMESPACE, Drawn


class ViewMatrix(Drawn):
    """V with the order ribbon above it. view: see filters_view.component_data."""

    _namespace = NAMESPACE
    _type = "ViewMatrix"
    _names = ("id", "view")

    def __init__(self, id: str, view: Mapping[str, Any] | None) -> None:
        super().__init__(id=id, view=view)


class Scrubber(Drawn):
    """A slider over the batches that moves the moment. at: the batch shown; marks: plan changes."""

    _namespace = NAMESPACE
    _type = "Scrubber"
    _names = ("id", "at", "now", "marks")

    def __init__(self, id: str, at: int | None, now: int | None, marks: Sequence[int]) -> None:
        super().__init__(id=id, at=at, now=now, marks=list(marks))


class ShareBar(Drawn):
    """Shares of a whole, together 1: parts [[property, words, share], ...] of ``entity``.

    It follows the stream while LIVE. zoom: the first part is left out and the others fill the bar.
    """

    _namespace = NAMESPACE
    _type = "ShareBar"
    _names = ("id", "label", "entity", "parts", "batch", "zoom")

    def __init__(
        self,
        id: str,
        label: str,
        entity: str,
        parts: Sequence[tuple[str, str, float | None]],
        batch: int | None,
        zoom: bool = False,
    ) -> None:
        rows = [list(part) for part in parts]
        super().__init__(id=id, label=label, entity=entity, parts=rows, batch=batch, zoom=zoom)
