"""What the Timeline page shows: panels of series over one time axis, and the event lanes.

Baselines are step functions of the batches; the band around them is where the trigger stays
quiet: baseline x (1 - mu) .. baseline x (1 + mu), with the mu in force at that batch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.base.face import WatchedNumber, watching
from dashboard.components.formats import Format, show
from dashboard.views.book import SYSTEM
from dashboard.views.gaps import Gap, gaps_of
from storage.tables.rows import SeriesData, StoredEvent
from storage.vocabulary.planlog import AUTOPILOT
from storage.vocabulary.records import Knob


class TimelineTrace(NamedTuple):
    """One line. property: of ``entity``, the engine or a unit.

    low/high: envelope, [] when every batch is drawn.
    """

    property: str
    name: str
    batches: list[int]
    times: list[float]
    values: list[float | None]
    low: list[float | None]
    high: list[float | None]
    entity: str = SYSTEM


class Band(NamedTuple):
    """A baseline in steps and the trigger's quiet zone around it; None where unknown.

    mu: the newest one, with which the live path continues the zone.
    """

    property: str
    name: str
    mu: float | None
    batches: list[int]
    times: list[float]
    values: list[float | None]
    low: list[float | None]
    high: list[float | None]
    entity: str = SYSTEM


class TimelinePanel(NamedTuple):
    """One panel: spot values, optionally the running window and the baseline with its band."""

    key: str
    title: str
    short: str
    unit: str
    form: Format
    spot: TimelineTrace
    window: TimelineTrace | None
    band: Band | None
    note: str


class Marker(NamedTuple):
    """One event: which lane, when, what; link: path of the page that explains it, or ''.

    unit: whose it is, '' = the engine's.
    """

    lane: str
    kind: str
    batch: int
    time: float
    title: str
    detail: str
    severity: str
    link: str
    decision: int | None
    unit: str = ""


class TimelineView(NamedTuple):
    """Panels top to bottom, then lanes with their markers. cursor: time of the batch shown.

    gaps: without an engine.
    """

    panels: list[TimelinePanel]
    markers: list[Marker]
    cursor: float | None
    first: float | None
    last: float | None
    gaps: list[Gap]


class Spec(NamedTuple):
    """A panel's property and words."""

    key: str
    title: str
    short: str
    unit: str
    form: Format
    spot: str

    @property
    def watch(self) -> WatchedNumber:
        """How a system watches it, if any does."""
        return watching().watches.get(self.spot, WatchedNumber())


PANELS: Final = (
    Spec("dropping", "Tuple dropping ratio d", "d", "share of tuples", "f3", "dropping_ratio"),
    Spec("visits", "Visits per tuple", "visits", "operators", "f2", "visits_per_tuple"),
    Spec("rate", "Throughput", "throughput", "tuples/s", "si", "tuples_per_s"),
    Spec("batch", "Batch time", "batch time", "ms", "ms", "batch_ms"),
)
BACKLOG: Final = Spec("backlog", "Backlog", "backlog", "tuples", "si", "backlog_tuples")

LANES: Final = ("rearrangement", "held back", "knob", "query", "error")
_LANE_OF: Final = {
    "rearrangement": "rearrangement",
    "held back": "held back",
    "knob": "knob",
    "algorithm": "knob",
    "query": "query",
    "change": "query",
    "loop": "query",
    "exactness": "error",
    "misfit": "error",
    "missed": "error",
    "input": "error",
    "end": "error",
}
_LINKS: Final = {
    "rearrangement": "/decisions",
    "held back": "/decisions",
    "knob": "/knobs",
    "algorithm": "/knobs",
    "query": "/results",
    "change": "/matrix",
    "end": "/postmortem",
    "input": "/results",
    "exactness": "/results",
    "misfit": "/results",
    "missed": "/plan",
}


def properties() -> tuple[str, ...]:
    """Every property of `system` the page reads."""
    names: dict[str, None] = {}
    for spec in (*PANELS, BACKLOG):
        names.update(dict.fromkeys((spec.spot, *spec.watch[:2])))
    return tuple(name for name in names if name)


def build_timeline(
    series: Mapping[str, SeriesData],
    mu_steps: Sequence[tuple[int, float | None]],
    trigger: str | None,
    window_tuples: int | None,
    events: Sequence[StoredEvent],
    cursor: float | None,
) -> TimelineView:
    """The page: panels that have data (backlog only when there ever was one), and the markers.

    series: by property of `system`. mu_steps: (first batch, mu) in batch order; empty, None = mu is
    unknown or not asked, so no band is drawn. trigger: the knob that says what decides ('visits' |
    'dropping ratio' | 'either'). window_tuples: lambda. cursor: time of the batch shown, None when
    pinned to now.
    """
    known = {name: data for name, data in series.items() if np.isfinite(data.value).any()}
    specs = [*PANELS, BACKLOG] if _ever(known.get(BACKLOG.spot)) else list(PANELS)
    steps = sorted(mu_steps)
    panels = [
        _panel(spec, known, steps, trigger, window_tuples) for spec in specs if spec.spot in known
    ]
    markers = [marker for event in events for marker in _markers(event)]
    times = [time for panel in panels for time in (panel.spot.times[0], panel.spot.times[-1])]
    first, last = (min(times), max(times)) if times else (None, None)
    return TimelineView(panels, markers, cursor, first, last, gaps_of(events))


class NumbersTable(NamedTuple):
    """The table twin: one row a batch (newest first), one column a property of the panels.

    columns: (property, heading, unit, form). total: points there are; rows hold the newest.
    """

    columns: list[tuple[str, str, str, Format]]
    batches: list[int]
    times: list[float]
    rows: list[list[float | None]]
    total: int


def build_numbers(view: TimelineView, limit: int = 200) -> NumbersTable:
    """The figure's numbers as a table of at most ``limit`` rows."""
    columns: list[tuple[str, str, str, Format]] = []
    cells: dict[int, dict[str, float | None]] = {}
    times: dict[int, float] = {}
    for panel in view.panels:
        for line in (panel.spot, panel.window, panel.band):
            if line is None:
                continue
            columns.append((line.property, f"{panel.short}, {line.name}", panel.unit, panel.form))
            for batch, time, value in zip(line.batches, line.times, line.values, strict=True):
                cells.setdefault(batch, {})[line.property] = value
                times[batch] = time
    newest = sorted(cells, reverse=True)[:limit]
    rows = [[cells[batch].get(column[0]) for column in columns] for batch in newest]
    return NumbersTable(columns, newest, [times[batch] for batch in newest], rows, len(cells))


def mu_in_force(turns: Sequence[Knob], deciding: Sequence[Knob]) -> list[tuple[int, float | None]]:
    """The values of the threshold, each from its batch on; None while the autopilot decides, which
    does not ask it. deciding: values of the knob that says who does, oldest first as turns."""
    by_autopilot = [(knob.batch, float(knob.value == AUTOPILOT)) for knob in deciding]
    mus = [(knob.batch, float(knob.value)) for knob in turns]
    batches = sorted({batch for batch, _ in (*mus, *by_autopilot)})
    return [(at, None if mu_at(by_autopilot, at) else mu_at(mus, at)) for at in batches]


def mu_at(mu_steps: Sequence[tuple[int, float | None]], batch: int) -> float | None:
    """The mu in force at a batch, None before the first known value; steps in batch order."""
    place = bisect_right([step[0] for step in mu_steps], batch)
    return mu_steps[place - 1][1] if place else None


def _panel(
    spec: Spec,
    series: Mapping[str, SeriesData],
    mu_steps: Sequence[tuple[int, float | None]],
    trigger: str | None,
    window_tuples: int | None,
) -> TimelinePanel:
    watch = spec.watch
    window, baseline = series.get(watch.window), series.get(watch.baseline)
    size = show(window_tuples, "int") if window_tuples else "\u03bb"
    decides = bool(watch.called) and trigger in (watch.called, "either")
    return TimelinePanel(
        key=spec.key,
        title=spec.title,
        short=spec.short,
        unit=spec.unit,
        form=spec.form,
        spot=_trace(spec.spot, "this batch", series[spec.spot]),
        window=_trace(watch.window, f"last {size} tuples", window) if window else None,
        band=_band(watch.baseline, baseline, mu_steps) if baseline else None,
        note="decides rearrangements" if decides else "",
    )


def _trace(name: str, words: str, data: SeriesData) -> TimelineTrace:
    return TimelineTrace(
        property=name,
        name=words,
        batches=data.batch.tolist(),
        times=data.time.tolist(),
        values=_known(data.value),
        low=_known(data.low) if data.thinned else [],
        high=_known(data.high) if data.thinned else [],
        entity=data.entity,
    )


def _band(name: str, data: SeriesData, mu_steps: Sequence[tuple[int, float | None]]) -> Band:
    batches, values = data.batch.tolist(), _known(data.value)
    mus = [mu_at(mu_steps, batch) for batch in batches]
    pairs = list(zip(values, mus, strict=True))
    return Band(
        property=name,
        name="baseline",
        mu=mus[-1],
        batches=batches,
        times=data.time.tolist(),
        values=values,
        low=[_scaled(value, mu, -1) for value, mu in pairs],
        high=[_scaled(value, mu, +1) for value, mu in pairs],
        entity=data.entity,
    )


def _markers(stored: StoredEvent) -> list[Marker]:
    event = stored.event
    lane = _LANE_OF.get(event.kind)
    if lane is None and event.severity == "error":
        lane = "error"
    if lane is None:
        return []
    decision = (event.ref or {}).get("decision")
    return [
        Marker(
            lane=lane,
            kind=event.kind,
            batch=max(0, stored.batch),
            time=stored.time,
            title=event.title,
            detail=event.detail,
            severity=event.severity,
            link=_LINKS.get(event.kind, ""),
            decision=decision if isinstance(decision, int) else None,
            unit=event.unit_id,
        )
    ]


def _scaled(value: float | None, mu: float | None, sign: int) -> float | None:
    return None if value is None or mu is None else max(0.0, value * (1 + sign * mu))


def _known(values: NDArray[np.float64]) -> list[float | None]:
    """NaN (unknown) becomes None, which plotly and JSON leave out."""
    return [None if value != value else value for value in values.tolist()]


def _ever(data: SeriesData | None) -> bool:
    return data is not None and bool(np.nansum(data.value) > 0)
