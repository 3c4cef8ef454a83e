"""Accuracy over memory: what a window's answers would be with fewer tuples; records to points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dashboard.systems.cals.shed_view import WindowShed
from dashboard.views.numbers import known
from storage.tables.rows import StoredMatrix
from storage.vocabulary.cals import CURVE_COLUMNS
from storage.vocabulary.records import Knob

#: The knob that moves the point in force.
LIMIT_KNOB: Final = "memory_tuples"


class MemoryPoint(NamedTuple):
    """limit: tuples in a shard, ``tuples`` in all; bytes: of these; accuracy: once the window holds
    no others; at_once: were the limit turned now, None: there are fewer tuples; going: of some
    values how many tuples would go then, most first."""

    limit: float
    tuples: float
    bytes: float
    accuracy: float
    at_once: float | None
    going: tuple[tuple[str, int], ...]


class WindowCurve(NamedTuple):
    """A(M) of a window. batch: after which it was made, of so many tuples looked at; limit: in
    force, tuples in a shard, 0 = none; resident: in a shard; accuracy: now, measured where it is,
    else expected. pooled: a pool of memory limits it further than the knob."""

    id: str
    title: str
    name: str
    batch: int
    looked: int
    limit: float
    resident: float
    accuracy: float | None
    is_measured: bool
    pooled: bool
    points: tuple[MemoryPoint, ...]


class MemoryCurves(NamedTuple):
    """Windows with a curve, and the knob behind their limits."""

    windows: tuple[WindowCurve, ...]
    knob: Knob | None


def build_curves(
    windows: list[WindowShed], curves: Mapping[str, StoredMatrix], knob: Knob | None
) -> MemoryCurves | None:
    """None before a window has a curve. curves: the newest by window."""
    own = [_curve(window, curves[window.id], knob) for window in windows if window.id in curves]
    return MemoryCurves(tuple(own), knob) if own else None


def _curve(window: WindowShed, stored: StoredMatrix, knob: Knob | None) -> WindowCurve:
    points = _points(stored)
    last = points[-1]
    by_rows = max(1, round(last.tuples / last.limit)) if last.limit else 1
    n_shards = stored.matrix.row_stats.get("shards", [by_rows])[0]
    turned = 0.0 if knob is None else float(knob.value)
    measured = window.measured is not None
    looked = stored.matrix.row_stats.get("looked", [0])
    return WindowCurve(
        window.id,
        window.title,
        window.name,
        stored.batch,
        looked[0],
        window.limit,
        window.held / n_shards,
        window.measured if measured else window.expected,
        measured,
        bool(window.limit) and window.limit != turned,
        points,
    )


def _points(stored: StoredMatrix) -> tuple[MemoryPoint, ...]:
    matrix = stored.matrix
    going = matrix.row_stats.get("going", [[]] * len(matrix.rows))
    points = []
    for row, gone in zip(matrix.values, going, strict=True):
        own = dict(zip(matrix.columns, row, strict=True))
        tuples, limit, n_bytes, accuracy, at_once = (own[name] for name in CURVE_COLUMNS)
        most = tuple((str(value), int(n)) for value, n in sorted(gone, key=lambda pair: -pair[1]))
        now = at_once if known(at_once) else None
        points.append(MemoryPoint(limit, tuples, n_bytes, accuracy, now, most))
    return tuple(points)
