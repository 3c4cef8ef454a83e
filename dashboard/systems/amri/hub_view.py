"""An eddy as a hub: of each origin the route in force, as wide as its traffic, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dashboard.systems.amri.routes_view import ARROW, RouteLine, read_routes
from storage.tables.rows import StoredMatrix


class HubStep(NamedTuple):
    """A step of a route. requests: composites that go it in the batch; fan_out: what comes out of
    the state for each; None = not on record."""

    state: str
    requests: float | None
    fan_out: float | None


class HubRoute(NamedTuple):
    """A route that elements of an origin took beside the one in force, and their share."""

    states: tuple[str, ...]
    share: float


class HubOrigin(NamedTuple):
    """An origin with its route in force. elements: of the batch; explored: the share that took
    another route than most; results: composites that come out of the last step; price: of an
    element, ratio: by that of the cheapest order; others: routes explored, taken most first."""

    name: str
    steps: tuple[HubStep, ...]
    elements: float | None
    explored: float | None
    results: float | None
    price: float | None
    ratio: float | None
    others: tuple[HubRoute, ...]


class HubView(NamedTuple):
    """An eddy as of a batch. states: by port."""

    title: str
    states: tuple[str, ...]
    origins: tuple[HubOrigin, ...]
    batch: int


def build_hub(stored: StoredMatrix) -> HubView:
    """A matrix of kind ROUTES."""
    by_origin = read_routes(stored)
    origins = tuple(origin for own in by_origin.values() for origin in _origin(own))
    title = stored.matrix.name.partition(" of ")[2] or stored.matrix.name
    return HubView(title, tuple(by_origin), origins, stored.batch)


def _origin(own: Sequence[RouteLine]) -> list[HubOrigin]:
    """As one that has a route in force."""
    counts = [line.elements for line in own if line.elements is not None]
    elements, shares = sum(counts) if counts else None, [line.share or 0.0 for line in own]
    explored = max(0.0, 1 - max(shares)) if elements else None
    others = [
        HubRoute(tuple(line.order.split(ARROW)), line.share)
        for line in own
        if line.share and not line.in_force
    ]
    others.sort(key=lambda route: -route.share)
    return [
        HubOrigin(
            line.origin, steps, elements, explored, results, line.price, line.ratio, tuple(others)
        )
        for line in own
        if line.in_force
        for steps, results in [_steps(line, elements)]
    ]


def _steps(line: RouteLine, elements: float | None) -> tuple[tuple[HubStep, ...], float | None]:
    """With what comes out of the last one."""
    states, requests = line.order.split(ARROW), elements
    steps = []
    for place, state in enumerate(states):
        fan_out = line.fan_outs[place] if place < len(line.fan_outs) else None
        steps.append(HubStep(state, requests, fan_out))
        requests = None if requests is None or fan_out is None else requests * fan_out
    return tuple(steps), requests


def sent(view: HubView) -> dict[str, Any]:
    """The view as the script reads it."""
    origins = [
        origin._asdict()
        | {
            "steps": [step._asdict() for step in origin.steps],
            "others": [other._asdict() for other in origin.others],
        }
        for origin in view.origins
    ]
    return view._asdict() | {"origins": origins}
