"""Conditions that came back, and how soon the plan known for them ran again. [B05] §7"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.components.formats import clock
from dashboard.views.planlog import PlanLogEntry
from dashboard.views.planlog_importance import usual_moves
from dashboard.views.planlog_plans import LoggedPlan

#: Usual moves within which conditions are like others, as in the log itself.
LIMIT: Final = 4.0


class Recurrence(NamedTuple):
    """A switch to a plan in a region of the log in which it ran before, which the statistics had
    left meanwhile.

    decision, batch, time: of the switch; seen_batch, seen: of the last look before it that chose
    the plan in this region. n_looks: that it took from when the conditions were like those of the
    region; n_first: that it took at first, None where the plan was in force when they came.
    is_now: they last.
    """

    decision: int
    batch: int
    time: float
    plan: LoggedPlan
    seen_batch: int
    seen: float
    n_looks: int
    n_first: int | None
    is_now: bool


class _PlanStay(NamedTuple):
    """Looks from ``start`` to before ``end`` that chose one plan. n_looks: it took to switch to it,
    None for the first."""

    start: int
    end: int
    n_looks: int | None


def recurrences(
    entries: Sequence[PlanLogEntry], plans: Mapping[str, LoggedPlan]
) -> list[Recurrence]:
    """Those of one log, newest first."""
    rows = list[Recurrence]()
    scaled = _scaled(entries)
    stays = _stays(entries, scaled)
    for place, stay in enumerate(stays[1:], start=1):
        assert stay.n_looks is not None
        new = entries[stay.start]
        regions = [{entry.region for entry in entries[a.start : a.end]} for a in stays[:place]]
        times = [at for at, own in enumerate(regions) if new.region in own]
        if not times:
            continue
        before = stays[times[-1]]
        own = [at for at in range(before.start, before.end) if _is_like(entries[at], new)]
        seen = own[-1]
        if not _has_left(np.median(scaled[own], axis=0), scaled[seen + 1 : stay.start]):
            continue
        rows.append(
            Recurrence(
                new.decision,
                new.batch,
                new.time,
                plans[new.plan],
                entries[seen].batch,
                entries[seen].time,
                stay.n_looks,
                stays[times[0]].n_looks,
                stay.end == len(entries) and _is_like(entries[-1], new),
            )
        )
    return rows[::-1]


def _is_like(entry: PlanLogEntry, other: PlanLogEntry) -> bool:
    return entry.region == other.region


def _scaled(entries: Sequence[PlanLogEntry]) -> NDArray[np.float64]:
    """float64[T, n], statistics in their usual moves."""
    s = np.array([list(entry.statistics.values()) for entry in entries], dtype=np.float64)
    return s / usual_moves(s, list(entries[-1].units.values())) if len(s) else s


def _has_left(home: NDArray[np.float64], between: NDArray[np.float64]) -> bool:
    """Whether conditions were others between two stays of a plan: in two looks one behind the
    other, or in all there are. Where they were not, the plan came back by itself.

    home: float64[n], of the first stay; between: float64[T, n], both in usual moves."""
    away = np.abs(between - home).max(axis=1) > LIMIT
    return bool(len(away) and (away.all() or (away[1:] & away[:-1]).any()))


def _stays(entries: Sequence[PlanLogEntry], scaled: NDArray[np.float64]) -> list[_PlanStay]:
    starts = [0, *(at for at, entry in enumerate(entries) if entry.switched and at)]
    bounds = list(pairwise([*starts, len(entries)]))
    took = [_looks_taken(scaled, old[0], new) for old, new in pairwise(bounds)]
    return [_PlanStay(*bound, n) for bound, n in zip(bounds, [None, *took], strict=True)]


def _looks_taken(scaled: NDArray[np.float64], before: int, stay: tuple[int, int]) -> int:
    """Looks until the switch, itself counted, since the statistics are nearer to those of the stay
    than to those of the one that began with look ``before``: to the medians of both.

    scaled: float64[T, n], statistics in their usual moves."""
    start, end = stay
    old, new = np.median(scaled[before:start], axis=0), np.median(scaled[start:end], axis=0)
    n = 1
    while start - n >= before:
        at = scaled[start - n]
        if np.abs(at - new).max() >= np.abs(at - old).max():
            break
        n += 1
    return n


def back_words(row: Recurrence) -> str:
    """'Conditions of 14:05:12 are back: plan 3 taken after 1 look, it took 6 the first time.'"""
    came = "are back" if row.is_now else f"came back at {clock(row.time)}"
    looks = f"{row.n_looks} look{'s' if row.n_looks > 1 else ''}"
    first = f", it took {row.n_first} the first time" if row.n_first is not None else ""
    return f"Conditions of {clock(row.seen)} {came}: {row.plan.name} taken after {looks}{first}."
