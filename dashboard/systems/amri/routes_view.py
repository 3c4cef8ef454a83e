"""The orders an origin's elements may take past the other states, with their prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from storage.tables.rows import StoredMatrix

ROUTES: Final = "routes by origin"
#: Between the states of a route, and in front of it the origin.
_ARROW: Final = " → "
#: Orders of an origin that are listed, the cheapest, beside the one in force.
MOST_ORDERS: Final = 3


class RouteLine(NamedTuple):
    """An order of an origin. price: counted cost of an element, None = not priced; least: of the
    origin's orders; share: of its elements that took it, compared: tuples an element, both known of
    the one in force alone."""

    origin: str
    order: str
    price: float | None
    least: float | None
    share: float | None
    compared: float | None
    in_force: bool

    @property
    def ratio(self) -> float | None:
        """Price by that of the cheapest order."""
        return self.price / self.least if self.price is not None and self.least else None


class RoutesView(NamedTuple):
    """The routes of an eddy as of a batch, by origin, the cheapest first; total: of all orders."""

    title: str
    lines: tuple[RouteLine, ...]
    total: int
    batch: int


def build_routes(stored: StoredMatrix) -> RoutesView:
    """A matrix of kind ROUTES."""
    matrix = stored.matrix
    by_origin: dict[str, list[RouteLine]] = {}
    for name, row in zip(matrix.rows, matrix.values, strict=True):
        own = dict(zip(matrix.columns, row, strict=True))
        origin, _, order = name.partition(_ARROW)
        line = RouteLine(
            origin, order, own.get("price"), None, own.get("share"), own.get("compared"),
            bool(own.get("in force")),
        )  # fmt: skip
        by_origin.setdefault(origin, []).append(line)
    lines = tuple(line for own in by_origin.values() for line in _listed(own))
    return RoutesView(matrix.name, lines, len(matrix.rows), stored.batch)


def _listed(own: Sequence[RouteLine]) -> list[RouteLine]:
    priced = sorted(own, key=lambda line: (line.price is None, line.price or 0.0))
    least = priced[0].price
    return [
        line._replace(least=least)
        for place, line in enumerate(priced)
        if place < MOST_ORDERS or line.in_force
    ]
