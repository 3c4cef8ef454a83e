"""Deltas: what one change of a run looks like on the wire, small enough for every batch.

A delta is a JSON object (:func:`room` bytes at most):

``run`` run id · ``c`` cursor, grows with every change of the store · ``b`` newest batch (null
before the first) · ``t`` when it was recorded (Unix s) · ``now`` when this was told, by the same
clock, the engine's · ``st`` state of the run · ``pv`` version
of the plan that batch ran under · ``kv`` knob version · ``st_time`` stream time, text · ``v`` all
values of the batch by entity: of the system and of operators ``{property: value}``, of queries
``{"matched_total": n, "answer_value": x}``, of queues, synopses, stores and caches their size, or
the sizes that ``dashboard.views.plan.SHAPES`` names, or their parts by name, with four significant
digits, whole numbers exactly; what is not in it has no value in the batch · ``cut`` true: some
parts of the plan did not fit and are told by turns · ``pts`` one ``[batch, time, dropping_ratio,
visits_per_tuple, tuples_per_s, batch_ms]`` for every new batch, of more than sixteen as many,
evenly spread · ``new`` which kinds of records changed, ``plans`` also when another plan came into
force · ``gap`` true: earlier deltas were lost, take all anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from dashboard.base.face import faces, followed
from dashboard.views.numbers import rounded, thinned
from dashboard.views.plan import SIZED, sizes_of
from storage.reader import Reader
from storage.tables.rows import Change, SeriesData
from storage.vocabulary.records import Batch, Run

Delta: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, Mapping[str, float | None]]

#: Bytes of a delta without parts of a plan, for each part, and at most: what is compressed finds
#: the delta before in its window of 32 kB.
_LEAST_BYTES: Final = 2000
_PART_BYTES: Final = 96
MAX_BYTES: Final = 30_000
MAX_POINTS: Final = 16
#: A chart that misses more batches than these takes all anew.
MAX_BATCHES: Final = 256
POINT_PROPERTIES: Final = ("dropping_ratio", "visits_per_tuple", "tuples_per_s", "batch_ms")
_TURN: Final = 8
#: Batches of which a snapshot has points: the page it continues may have been read before them.
_SNAPSHOT_POINTS: Final = 12
_OPERATOR_PROPERTIES: Final = ("survival_prob", "drop_prob", "reached_tuples")
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

    batch: newest batch, None before the first. kinds: entity -> its kind. coming: of knobs and
    queries that are on record, the later batches that they are in force from.
    """

    batch: int | None = None
    plan_version: int | None = None
    knob_version: int | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    coming: Mapping[str, frozenset[int]] = field(default_factory=dict)


def build(
    reader: Reader, run: Run, cursor: int, known: Known, changes: Sequence[Change]
) -> tuple[Delta, Known]:
    """The delta of a run after ``changes``, and what is known then. Raises StoreError."""
    changed, before = {name for change in changes for name in change.changed}, known.plan_version
    known = _with_versions(reader, run.id, known, changed)
    since = 0 if known.batch is None else known.batch + 1
    batches = reader.batches(run.id, since_id=since, limit=MAX_BATCHES + 1)
    head: Delta = {"run": run.id, "c": cursor, "b": known.batch, "t": None, "st": run.state}
    head["now"] = round(reader.now_of(run), 3)
    head |= {"pv": known.plan_version, "kv": known.knob_version}
    recorded = [change.time for change in changes if change.kind != "command"]
    if recorded:
        head["t"] = round(max(recorded), 3)
    newest = batches[-1] if batches else None
    version = known.plan_version if newest is None else sum(newest.plans.values()) or None
    news = {_NEWS.get(word) for word in changed} | ({"plans"} if version != before else set())
    known, has_come = _come(known, None if newest is None else newest.id)
    news |= has_come
    head["new"] = [name for name in ALL_NEWS if name in news]
    if newest is None:
        return head, known
    values = reader.values(run.id, newest.id)
    head |= {"b": newest.id, "t": round(newest.time, 3), "pv": version}
    head |= {"st_time": newest.stream_time, "pts": _points(reader, run.id, batches, values)}
    if len(batches) > MAX_BATCHES:
        head |= {"gap": True, "new": list(ALL_NEWS)}
    known = replace(known, batch=newest.id, plan_version=version)
    return _with_values(head, values, known.kinds), known


def _come(known: Known, newest: int | None) -> tuple[Known, set[str]]:
    """Kinds of records that are in force from this batch on, or one before it, and were not."""
    now = -1 if newest is None else newest
    left = {kind: frozenset(b for b in at if b > now) for kind, at in known.coming.items()}
    return replace(known, coming=left), {kind for kind in left if left[kind] != known.coming[kind]}


def snapshot(reader: Reader, run: Run, cursor: int, *, gap: bool = False) -> tuple[Delta, Known]:
    """All there is to know of a run now, as a delta. gap: it stands for lost ones.

    Raises StoreError.
    """
    last = reader.last_batch(run.id)
    before = Known(batch=last - _SNAPSHOT_POINTS if last and last >= _SNAPSHOT_POINTS else None)
    delta, known = build(reader, run, cursor, _with_versions(reader, run.id, before, None), ())
    delta["new"] = []
    if gap:
        delta |= {"gap": True, "new": list(ALL_NEWS)}
    return delta, known


def merged(deltas: Sequence[Delta]) -> Delta:
    """One delta that says what several in a row said; at least one is needed."""
    whole: Delta = {}
    for delta in deltas:
        points = [*whole.get("pts", ()), *delta.get("pts", ())]
        news = {*whole.get("new", ()), *delta["new"]}
        time = max((part["t"] for part in (whole, delta) if part.get("t")), default=None)
        rest = {name: whole[name] for name in whole if name != "cut" or "v" not in delta}
        whole = {**rest, **delta, "t": time, "new": [name for name in ALL_NEWS if name in news]}
        if points:
            whole["pts"] = thinned(points, MAX_POINTS)
    return whole


def encoded(delta: Delta) -> str:
    """Compact JSON."""
    return json.dumps(delta, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _with_versions(
    reader: Reader, run_id: str, known: Known, changed: Iterable[str] | None
) -> Known:
    """The versions in force and the entities, looked up when they changed (None: all)."""
    if changed is None or "entities" in changed:
        entities = reader.entities(run_id)
        known = replace(known, kinds={entity.id: entity.kind for entity in entities})
        at = [batch for e in entities for batch in (e.since_batch, e.removed_batch)]
        known = _awaiting(known, "queries", at)
    if changed is None or "knobs" in changed:
        knobs = reader.knobs(run_id)
        version = max((knob.version for knob in knobs), default=None)
        known = replace(known, knob_version=version)
        known = _awaiting(known, "knobs", [knob.batch for knob in knobs])
    if changed is None or "plans" in changed:
        plans = reader.plans_at(run_id, known.batch).values()
        known = replace(known, plan_version=sum(plan.version for plan in plans) or None)
    return known


def _awaiting(known: Known, kind: str, batches: Iterable[int | None]) -> Known:
    """Records of a kind are in force from these batches on."""
    now = -1 if known.batch is None else known.batch
    later = frozenset(batch for batch in batches if batch is not None and batch > now)
    return replace(known, coming={**known.coming, kind: later})


def _points(
    reader: Reader, run_id: str, batches: Sequence[Batch], values: Values
) -> list[list[Any]]:
    if len(batches) == 1:
        system = values.get("system", {})
        own = [rounded(system.get(name)) for name in POINT_PROPERTIES]
        return [[batches[0].id, round(batches[0].time, 3), *own]]
    keys = [("system", name) for name in POINT_PROPERTIES]
    series = reader.many_series(
        run_id, keys, since_batch=batches[0].id, until_batch=batches[-1].id, max_points=len(batches)
    )
    columns = [_by_batch(series.get(key)) for key in keys]
    return [
        [batch.id, round(batch.time, 3), *(column.get(batch.id) for column in columns)]
        for batch in thinned(batches, MAX_POINTS)
    ]


def _by_batch(series: SeriesData | None) -> dict[int | None, float | int | None]:
    if series is None:
        return {}
    pairs = zip(series.batch.tolist(), series.value.tolist(), strict=True)
    return {batch: rounded(value) for batch, value in pairs}


def room(n_parts: int) -> int:
    """Bytes of a delta of a run whose plan has so many operators, queues and states."""
    return min(MAX_BYTES, _LEAST_BYTES + _PART_BYTES * n_parts)


def _with_values(delta: Delta, values: Values, kinds: Mapping[str, str]) -> Delta:
    """The delta with all values that fit, those of the plan's parts first."""
    system = {name: rounded(value) for name, value in values.get("system", {}).items()}
    shown: dict[str, Any] = {"system": system}
    delta = {**delta, "v": shown}
    parts = _turned(_parts(values, kinds), delta["b"])
    left = room(len(parts)) - len(encoded(delta).encode())
    for entity, value in (*parts, *_turned(_others(values, kinds), delta["b"])):
        size = len(encoded({entity: value}).encode())
        if size <= left:
            shown[entity] = value
            left -= size
    return delta if all(entity in shown for entity, _ in parts) else {**delta, "cut": True}


def _turned(parts: list[tuple[str, Any]], batch: int) -> list[tuple[str, Any]]:
    """Others first each batch, for when they do not all fit."""
    turn = _TURN * batch % len(parts) if parts else 0
    return parts[turn:] + parts[:turn]


def _of_kinds(values: Values, kinds: Mapping[str, str], *wanted: str) -> Values:
    """Values of the entities of these kinds, by name."""
    return {entity: values[entity] for entity in sorted(values) if kinds.get(entity) in wanted}


def _parts(values: Values, kinds: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Operators and the sizes of what lies between them."""
    parts: list[tuple[str, Any]] = []
    names = (*_OPERATOR_PROPERTIES, *followed())
    for entity, own in _of_kinds(values, kinds, "operator").items():
        numbers = {name: rounded(own.get(name)) for name in names}
        parts.append(
            (entity, {name: value for name, value in numbers.items() if value is not None})
        )
    return parts + [
        (entity, sizes_of(own)) for entity, own in _of_kinds(values, kinds, *SIZED).items()
    ]


def _others(values: Values, kinds: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Monitors and queries."""
    others: list[tuple[str, Any]] = []
    hushed = {name for face in faces() for name in face.hushed}
    for entity, own in _of_kinds(values, kinds, "monitor").items():
        shown = {name: rounded(own[name]) for name in own if name not in hushed}
        others += [(entity, shown)] if shown else []
    for entity, own in _of_kinds(values, kinds, "query").items():
        answer = {name: rounded(own[name]) for name in ("answer_value",) if name in own}
        others.append((entity, {"matched_total": rounded(own.get("matched_total")), **answer}))
    return others
