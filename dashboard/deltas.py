"""Deltas: what one change of a run looks like on the wire, small enough for every batch.

A delta is a JSON object (at most 2000 bytes):

``run`` run id · ``c`` cursor, grows with every change of the store · ``b`` newest batch (null
before the first) · ``t`` when it was recorded (Unix s) · ``st`` state of the run · ``pv`` plan
version · ``kv`` knob version · ``st_time`` stream time, text · ``v`` values: ``{"system":
{property: value}, "asc:x" or "filter:x": {...}, "queue:x": size, "query:x": {"matched_total":
n}}`` with four significant digits, whole numbers exactly (the system always, constructs and filters
always while they fit, by turns else, the others when they changed and fit) · ``pts``
one ``[batch, time, dropping_ratio, visits_per_tuple, tuples_per_s, batch_ms]`` for every new batch
· ``new`` which kinds of records changed · ``gap`` true: earlier deltas were lost, take all anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from storage.reader import Reader
from storage.rows import Change, SeriesData
from storage.vocabulary.records import Batch, Run

Delta: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, Mapping[str, float | None]]

MAX_BYTES: Final = 2000
MAX_POINTS: Final = 16
POINT_PROPERTIES: Final = ("dropping_ratio", "visits_per_tuple", "tuples_per_s", "batch_ms")
_OPERATORS: Final = ("asc:", "filter:")
_TURN: Final = 8
_OPERATOR_PROPERTIES: Final = ("survival_prob", "drop_prob", "reached_tuples", "cost_us")
_NEWS: Final = {
    "runs": "run",
    "entities": "queries",
    "plans": "plans",
    "decisions": "decisions",
    "outcomes": "decisions",
    "matrices": "matrices",
    "events": "events",
    "knobs": "knobs",
    "commands": "commands",
    "results": "results",
    "misfits": "misfits",
}
ALL_NEWS: Final = tuple(dict.fromkeys(_NEWS.values()))


@dataclass(frozen=True, slots=True)
class Known:
    """What the last delta of a run said; the next one is built against it.

    batch: newest batch, None before the first. others: values sent only when they change.
    """

    batch: int | None = None
    plan_version: int | None = None
    knob_version: int | None = None
    others: Mapping[str, Any] = field(default_factory=dict)


def rounded(value: float | None) -> float | int | None:
    """The value with four significant digits, whole numbers exactly; None when unknown."""
    if value is None or not math.isfinite(value):
        return None
    short = value if float(value).is_integer() else float(f"{value:.4g}")
    return int(short) if float(short).is_integer() and abs(short) < 1e15 else short


def build(
    reader: Reader, run: Run, cursor: int, known: Known, changes: Sequence[Change]
) -> tuple[Delta, Known]:
    """The delta of a run after ``changes``, and what is known then. Raises StoreError."""
    changed = {name for change in changes for name in change.changed}
    known = _with_versions(reader, run.id, known, changed)
    since = 0 if known.batch is None else known.batch + 1
    batches = reader.batches(run.id, since_id=since, limit=MAX_POINTS + 1)
    head: Delta = {"run": run.id, "c": cursor, "b": known.batch, "t": None, "st": run.state}
    head |= {"pv": known.plan_version, "kv": known.knob_version}
    if changes:
        head["t"] = round(max(change.time for change in changes), 3)
    head["new"] = [name for name in ALL_NEWS if name in {_NEWS.get(word) for word in changed}]
    if not batches:
        return head, known
    newest = batches[-1]
    version = next(iter(newest.plans.values()), None)
    values = reader.values(run.id, newest.id)
    head |= {"b": newest.id, "t": round(newest.time, 3), "pv": version}
    head |= {"st_time": newest.stream_time, "pts": _points(reader, run.id, batches, values)}
    if len(batches) > MAX_POINTS:
        head |= {"gap": True, "new": list(ALL_NEWS)}
    known = replace(known, batch=newest.id, plan_version=version)
    return _with_values(head, values, known)


def snapshot(reader: Reader, run: Run, cursor: int, *, gap: bool = False) -> tuple[Delta, Known]:
    """All there is to know of a run now, as a delta. gap: it stands for lost ones.

    Raises StoreError.
    """
    last = reader.last_batch(run.id)
    before = Known(batch=None if last is None else last - 1)
    delta, known = build(reader, run, cursor, _with_versions(reader, run.id, before, None), ())
    if gap:
        delta |= {"gap": True, "new": list(ALL_NEWS)}
    return delta, known


def merged(deltas: Sequence[Delta]) -> Delta:
    """One delta that says what several in a row said; at least one is needed."""
    whole: Delta = {}
    for delta in deltas:
        values = {**whole.get("v", {}), **delta.get("v", {})}
        points = [*whole.get("pts", ()), *delta.get("pts", ())]
        news = {*whole.get("new", ()), *delta["new"]}
        time = max((part["t"] for part in (whole, delta) if part.get("t")), default=None)
        whole = {**whole, **delta, "t": time, "new": [name for name in ALL_NEWS if name in news]}
        if values:
            whole["v"] = values
        if points:
            whole["pts"] = points[-MAX_POINTS:]
        if len(points) > MAX_POINTS:
            whole |= {"gap": True, "new": list(ALL_NEWS)}
    return whole


def encoded(delta: Delta) -> str:
    """Compact JSON."""
    return json.dumps(delta, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _with_versions(
    reader: Reader, run_id: str, known: Known, changed: Iterable[str] | None
) -> Known:
    """The versions in force, looked up when they changed (None: look both up)."""
    if changed is None or "knobs" in changed:
        version = max((knob.version for knob in reader.knobs(run_id)), default=None)
        known = replace(known, knob_version=version)
    if changed is None or "plans" in changed:
        plan = reader.plan_at(run_id)
        known = replace(known, plan_version=None if plan is None else plan.version)
    return known


def _points(
    reader: Reader, run_id: str, batches: Sequence[Batch], values: Values
) -> list[list[Any]]:
    if len(batches) == 1:
        system = values.get("system", {})
        own = [rounded(system.get(name)) for name in POINT_PROPERTIES]
        return [[batches[0].id, round(batches[0].time, 3), *own]]
    recent = batches[-MAX_POINTS:]
    keys = [("system", name) for name in POINT_PROPERTIES]
    series = reader.many_series(
        run_id, keys, since_batch=recent[0].id, until_batch=recent[-1].id, max_points=MAX_POINTS
    )
    columns = [_by_batch(series.get(key)) for key in keys]
    return [
        [batch.id, round(batch.time, 3), *(column.get(batch.id) for column in columns)]
        for batch in recent
    ]


def _by_batch(series: SeriesData | None) -> dict[int | None, float | int | None]:
    if series is None:
        return {}
    pairs = zip(series.batch.tolist(), series.value.tolist(), strict=True)
    return {batch: rounded(value) for batch, value in pairs}


def _with_values(delta: Delta, values: Values, known: Known) -> tuple[Delta, Known]:
    """The delta with the system's values and those of the rest that fit."""
    system = {name: rounded(value) for name, value in values.get("system", {}).items()}
    shown: dict[str, Any] = {"system": system}
    delta = {**delta, "v": shown}
    sent = dict(known.others)
    room = MAX_BYTES - len(encoded(delta).encode())
    for entity, value in (*_operators(values, delta["b"]), *_others(values)):
        size = len(encoded({entity: value}).encode())
        wanted = entity.startswith(_OPERATORS) or sent.get(entity) != value
        if wanted and size <= room:
            shown[entity] = sent[entity] = value
            room -= size
    return delta, replace(known, others=sent)


def _operators(values: Values, batch: int) -> list[tuple[str, Any]]:
    """Values of the constructs; others are first each batch, for when they do not all fit."""
    found = sorted(entity for entity in values if entity.startswith(_OPERATORS))
    turn = _TURN * batch % len(found) if found else 0
    shown = []
    for entity in found[turn:] + found[:turn]:
        own = {name: rounded(values[entity].get(name)) for name in _OPERATOR_PROPERTIES}
        shown.append((entity, {name: value for name, value in own.items() if value is not None}))
    return shown


def _others(values: Values) -> Iterable[tuple[str, Any]]:
    """Values of queues, then monitors, then queries: the first are seen at a glance."""
    for entity in sorted(values):
        if entity.startswith("queue:"):
            own = values[entity]
            yield entity, rounded(own.get("flow_tuples", own.get("size_tuples")))
    for entity in sorted(values):
        if entity.startswith("monitor:"):
            yield entity, {name: rounded(value) for name, value in values[entity].items()}
    for entity in sorted(values):
        if entity.startswith("query:"):
            yield entity, {"matched_total": rounded(values[entity].get("matched_total"))}
