"""The looks of a plan log on two of their statistics, and the path of the run among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.views.planlog import PlanLogEntry
from dashboard.views.planlog_plans import LoggedPlan
from storage.vocabulary.planlog import is_piloted

#: Between the names in the address.
BETWEEN: Final = "~"
#: Columns and rows of the ground, and how far a cell of it may be from a look, both sides being 1.
_CELLS: Final = (56, 36)
_FAR: Final = 0.12
#: Of the sides, around the looks.
_EDGE: Final = 0.06


class SpacePoint(NamedTuple):
    """A look. place: of the plan it chose, in the log; measured: what that cost a tuple until the
    next look, None where none ran."""

    decision: int
    batch: int
    time: float
    x: float
    y: float
    place: int
    switched: bool
    predicted: float
    measured: float | None


class SpaceGround(NamedTuple):
    """Places of plans, of the nearest look of each cell, None far from all. xs, ys: middles of
    columns and rows; cells: row by row."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: tuple[tuple[int | None, ...], ...]


class SpaceView(NamedTuple):
    """names: statistics that can be chosen; x, y: those on the axes, with their units. points: the
    looks, oldest first; plans: that they chose, by place. cost_unit: of a cost a tuple. subject:
    what is decided, subjects: what can be chosen of it. since: looks before the range of batches
    that the page is of; range: in words, '' = the whole run."""

    names: tuple[str, ...]
    x: str
    y: str
    units: tuple[str, str]
    points: tuple[SpacePoint, ...]
    plans: tuple[LoggedPlan, ...]
    ground: SpaceGround
    cost_unit: str
    subject: str = ""
    subjects: tuple[str, ...] = ("",)
    since: int = 0
    range: str = ""


def build_space(
    entries: Sequence[PlanLogEntry],
    plans: Mapping[str, LoggedPlan],
    names: Sequence[str],
    show: str | None,
    subjects: Sequence[str] = ("",),
) -> SpaceView:
    """entries: of one log, one at least; names: of its statistics, the most important first; show:
    of the address; subjects: those of the unit's logs."""
    x, y = axes(show, names)
    points = tuple(_point(entry, x, y, plans[entry.plan].place) for entry in entries)
    chosen = {point.place for point in points}
    units = entries[-1].units
    return SpaceView(
        tuple(names),
        x,
        y,
        (units[x], units[y]),
        points,
        tuple(plan for plan in plans.values() if plan.place in chosen),
        _ground(points),
        entries[-1].cost_unit,
        entries[-1].subject,
        tuple(subjects),
    )


def subject_shown(show: str | None, subjects: Sequence[str]) -> str:
    """What is decided, as the address names it behind two statistics, or else the first that an
    autopilot decides, or the first."""
    asked = (show or "").split(BETWEEN)[2:]
    if asked and asked[0] in subjects:
        return asked[0]
    return next(iter([*filter(is_piloted, subjects), *subjects]), "")


def axes(show: str | None, names: Sequence[str]) -> tuple[str, str]:
    """The statistics that the address names; those of the greatest importance where it names none
    of the log."""
    asked = [name for name in (show or "").split(BETWEEN)[:2] if name in names]
    if len(asked) == 2:
        return asked[0], asked[1]
    return names[0], names[min(1, len(names) - 1)]


def _point(entry: PlanLogEntry, x: str, y: str, place: int) -> SpacePoint:
    return SpacePoint(
        entry.decision,
        entry.batch,
        entry.time,
        entry.statistics[x],
        entry.statistics[y],
        place,
        entry.switched,
        entry.predicted,
        entry.measured,
    )


def _ground(points: Sequence[SpacePoint]) -> SpaceGround:
    """Which plan the nearest look chose, on the two statistics alone."""
    across, xs = _side([point.x for point in points], _CELLS[0])
    up, ys = _side([point.y for point in points], _CELLS[1])
    far = up[:, None, :] ** 2 + across[None, :, :] ** 2
    nearest, least = far.argmin(axis=2).tolist(), far.min(axis=2).tolist()
    cells = tuple(
        tuple(
            points[look].place if apart <= _FAR**2 else None
            for look, apart in zip(looks, away, strict=True)
        )
        for looks, away in zip(nearest, least, strict=True)
    )
    return SpaceGround(xs, ys, cells)


def _side(values: Sequence[float], n: int) -> tuple[NDArray[np.float64], tuple[float, ...]]:
    """float64[n, T], distances of n middles from the values, the side being 1; and the middles."""
    low, high = min(values), max(values)
    whole = (high - low) * (1 + 2 * _EDGE) or max(abs(high), 1.0) * _EDGE
    middles = (low + high) / 2 + whole * ((np.arange(n) + 0.5) / n - 0.5)
    apart: NDArray[np.float64] = np.abs(middles[:, None] - np.array(values)[None, :]) / whole
    return apart, tuple(middles.tolist())
