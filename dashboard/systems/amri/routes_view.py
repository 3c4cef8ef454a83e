"""The orders an origin's elements may take past the other states, with their prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from storage.tables.rows import StoredMatrix

ROUTES: Final = "routes by origin"
#: Between the states of a route, and in front of it the origin.
ARROW: Final = " → "
#: Begins the names of columns that are fan-outs, step by step.
FAN_OUT: Final = "fan-out "
#: Orders of an origin that are listed, the cheapest, beside the one in force.
MOST_ORDERS: Final = 3


class RouteLine(NamedTuple):
    """An order of an origin. price: counted cost of an element, None = not priced; least: of the
    origin's orders; share: of its elements that took it, of them elements; compared: tuples an
    element. fan_outs: of its steps, () = not on record."""

    origin: str
    order: str
    price: float | None
    least: float | None
    share: float | None
    compared: float | None
    in_force: bool
    elements: float | None = None
    fan_outs: tuple[float, ...] = ()

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


def read_routes(stored: StoredMatrix) -> dict[str, list[RouteLine]]:
    """All orders of a matrix of kind ROUTES by origin, the cheapest first."""
    matrix = stored.matrix
    by_origin: dict[str, list[RouteLine]] = {}
    for name, row in zip(matrix.rows, matrix.values, strict=True):
        own = dict(zip(matrix.columns, row, strict=True))
        origin, _, order = name.partition(ARROW)
        line = RouteLine(
            origin, order, own.get("price"), None, own.get("share"), own.get("compared"),
            bool(own.get("in force")), own.get("elements"),
            tuple(value for key, value in own.items() if key.startswith(FAN_OUT)),
        )  # fmt: skip
        by_origin.setdefault(origin, []).append(line)
    return {origin: _ranked(own) for origin, own in by_origin.items()}


def build_routes(stored: StoredMatrix) -> RoutesView:
    """A matrix of kind ROUTES."""
    lines = tuple(line for own in read_routes(stored).values() for line in _listed(own))
    return RoutesView(stored.matrix.name, lines, len(stored.matrix.rows), stored.batch)


def _ranked(own: Sequence[RouteLine]) -> list[RouteLine]:
    priced = sorted(own, key=lambda line: (line.price is None, line.price or 0.0))
    return [line._replace(least=priced[0].price) for line in priced]


def _listed(own: Sequence[RouteLine]) -> list[RouteLine]:
    return [line for place, line in enumerate(own) if place < MOST_ORDERS or line.in_force]
