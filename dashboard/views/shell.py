"""What the header and the strip know of the run shown. Pure: records in, one snapshot out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from dashboard.base.context import Context
from dashboard.base.opening import NO_OPENING, Opening
from dashboard.components.kinds import event_kind
from dashboard.views.events import difference, names
from dashboard.views.gaps import gaps_of
from dashboard.views.inputs import is_over, streams_words
from dashboard.views.numbers import rounded
from dashboard.views.pace import PaceShown
from storage.tables.rows import SeriesData, StoredEvent, StoredInput
from storage.vocabulary.records import PlanVersion, Run

MOST_EVENTS: Final = 600
MOST_QUIET: Final = 200
QUIET_KINDS: Final = ("held back",)
History: TypeAlias = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything modules/header.js and strip.js draw, as JSON.

    run: {id, workload, stream, state, note, heartbeat_at, backlog, pace, over: whether it reads
    nothing more}. runs: {id, label, state}, newest first. first, now: batches. time: Unix s of the
    newest record. told_at: when this was told, by the engine's clock. period_s: between two batches
    lately. plans: oldest first. change: what tells the newest from the one it followed. history:
    what visits per tuple came to and when, see pack(). events: see event_item(). kinds: of those
    events -> (sign, word, rank). gaps: without an engine, (first batch after it, words). pages:
    paths with records. left_out: events the strip leaves out. opening: what a page without a run in
    its address opens on. layout: another one when pages may have other panels than before. works:
    parts that tell the time of one of their tuples, (id, name, property). harm: commands that
    kill the engine and resume the run, of a demo.
    """

    run: dict[str, Any] | None
    runs: list[dict[str, str]]
    first: int | None = None
    now: int | None = None
    time: float | None = None
    told_at: float | None = None
    period_s: float = 1.0
    plans: list[dict[str, Any]] = field(default_factory=list)
    change: str = ""
    history: History = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    kinds: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    gaps: list[tuple[int, str]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    left_out: int = 0
    opening: dict[str, Any] = field(default_factory=dict)
    layout: str = ""
    works: list[tuple[str, str, str]] = field(default_factory=list)
    harm: dict[str, str] = field(default_factory=dict)


def build_snapshot(
    context: Context,
    runs: Sequence[Run],
    plans: Sequence[PlanVersion],
    events: Sequence[StoredEvent],
    cost: SeriesData | None,
    pages: Sequence[str],
    inputs: Sequence[StoredInput] = (),
    titles: Mapping[str, str] | None = None,
    backlog: float | None = None,
    pace: PaceShown | None = None,
    opening: Opening = NO_OPENING,
) -> Snapshot:
    """The snapshot of the run of ``context``; cost: visits_per_tuple over the whole run.

    inputs: what it reads. titles: of its units, where there are several. backlog:
    tuples that waited at the newest batch. pace: whether it goes on by itself.
    """
    choices = [_choice(run) for run in sorted(runs, key=lambda run: -run.started_at)]
    if context.run is None:
        return Snapshot(None, choices, pages=list(pages), opening=opening._asdict())
    shown = pick_events(events)
    times = [] if cost is None else list(zip(cost.batch.tolist(), cost.time.tolist(), strict=True))
    return Snapshot(
        run=_run_item(context.run, inputs, backlog, pace or PaceShown()),
        runs=choices,
        first=times[0][0] if times else context.now,
        now=context.now,
        time=times[-1][1] if times else None,
        period_s=period(times),
        plans=[
            plan_item(plan, number, (titles or {}).get(plan.unit_id, ""))
            for number, plan in enumerate(plans, 1)
        ],
        change=_change(plans),
        history={} if cost is None else pack(cost),
        events=[event_item(event) for event in shown],
        kinds={event.event.kind: _mark(event.event.kind) for event in shown},
        gaps=[(gap.batch, gap.words) for gap in gaps_of(events)],
        pages=list(pages),
        left_out=len(events) - len(shown),
        opening=opening._asdict(),
    )


def _run_item(
    run: Run, inputs: Sequence[StoredInput], backlog: float | None, pace: PaceShown
) -> dict[str, Any]:
    return {
        "id": run.id,
        "workload": run.workload,
        "stream": streams_words(inputs) or run.streams,
        "over": is_over(inputs),
        "state": run.state,
        "note": run.note,
        "heartbeat_at": run.heartbeat_at or run.started_at,
        "backlog": backlog,
        "pace": pace._asdict(),
    }


def pack(cost: SeriesData) -> History:
    """The points of a series in few bytes: {batch, ms, value}, batches and whole milliseconds as
    differences to the point before, values with four digits, None = unknown; modules/times.js."""
    ms = np.rint(1e3 * cost.time).astype(np.int64)
    return {
        "batch": np.diff(cost.batch, prepend=0).tolist(),
        "ms": np.diff(ms, prepend=0).tolist(),
        "value": [rounded(value) for value in cost.value.tolist()],
    }


def period(times: Sequence[tuple[int, float]]) -> float:
    """Median seconds between batches over the newest twenty points; 1 when unknown."""
    recent = np.array(times[-21:], dtype=np.float64)
    if len(recent) < 2:
        return 1.0
    steps = np.diff(recent, axis=0)
    usable = steps[:, 0] > 0
    return float(np.median(steps[usable, 1] / steps[usable, 0])) if usable.any() else 1.0


def _change(plans: Sequence[PlanVersion]) -> str:
    """What tells the newest plan from the one of its unit that it followed."""
    if not plans:
        return ""
    own = [plan for plan in plans if plan.unit_id == plans[-1].unit_id]
    return difference(own[-2] if len(own) > 1 else None, own[-1])


def plan_item(plan: PlanVersion, number: int, of: str = "") -> dict[str, Any]:
    """A plan as the header names it. number: among the plans of its run, from 1. of: title of its
    unit, where there are several."""
    return {
        "version": number,
        "unit": plan.unit_id,
        "batch": plan.batch,
        "time": plan.recorded_at,
        "kind": plan.kind,
        "order": names(plan),
        "decision": plan.decision,
        "of": of,
    }


def event_item(event: StoredEvent) -> dict[str, Any]:
    """An event as the strip draws it; events before the first batch stand at batch 0. Of a change
    of the plan its unit and decision, too."""
    item = {"b": max(0, event.batch), "kind": event.event.kind, "title": event.event.title}
    decision = (event.event.ref or {}).get("decision")
    is_change = event.event.kind == "rearrangement" and isinstance(decision, int)
    return {**item, "unit": event.event.unit_id, "seq": decision} if is_change else item


def _mark(kind: str) -> tuple[str, str, int]:
    known_as = event_kind(kind)
    return known_as.sign, known_as.word.lower(), known_as.rank


def pick_events(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    """The events a strip can carry, oldest first: the newest, the loud ones before the quiet."""
    loud = [event for event in events if event.event.kind not in QUIET_KINDS][-MOST_EVENTS:]
    room = min(MOST_QUIET, MOST_EVENTS - len(loud))
    quiet = [event for event in events if event.event.kind in QUIET_KINDS]
    return sorted(loud + (quiet[-room:] if room > 0 else []), key=lambda event: event.id)


def _choice(run: Run) -> dict[str, str]:
    named = run.workload in run.id
    label = run.id if named else f"{run.workload} · {run.id}"
    return {"id": run.id, "label": label, "state": run.state}
