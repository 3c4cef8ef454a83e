"""Deltas: what one change of a run looks like on the wire, small enough for every batch.

A delta is a JSON object (at most 2000 bytes):

``run`` run id · ``c`` cursor, grows with every change of the store · ``b`` newest batch (null
before the first) · ``t`` when it was recorded (Unix s) · ``st`` state of the run · ``pv`` plan
version · ``kv`` knob version · ``st_time`` stream time, text · ``v`` values by entity: of the
system and of operators ``{property: value}``, of queries
``{"matched_total": n, "answer_value": x}``, of queues, synopses, stores and caches their size, or
the sizes that ``dashboard.views.plan.SHAPES`` names, with four significant digits, whole numbers
exactly (the system always, operators always while they fit, by turns else, the others when they
changed and fit) · ``pts``
one ``[batch, time, dropping_ratio, visits_per_tuple, tuples_per_s, batch_ms]`` for every new batch,
of more than sixteen as many, evenly spread · ``new`` which kinds of records changed · ``gap`` true:
earlier deltas were lost, take all anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from dashboard.views.numbers import rounded, thinned
from dashboard.views.plan import SIZED, sizes_of
from storage.reader import Reader
from storage.rows import Change, SeriesData
from storage.vocabulary.records import Batch, Run

Delta: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, Mapping[str, float | None]]

MAX_BYTES: Final = 2000
MAX_POINTS: Final = 16
#: A chart that misses more batches than these takes all anew.
MAX_BATCHES: Final = 256
POINT_PROPERTIES: Final = ("dropping_ratio", "visits_per_tuple", "tuples_per_s", "batch_ms")
_TURN: Final = 8
#: Batches of which a snapshot has points: the page it continues may have been read before them.
_SNAPSHOT_POINTS: Final = 12
_OPERATOR_PROPERTIES: Final = ("survival_prob", "drop_prob", "reached_tuples", "cost_us")
#: Properties no drawing follows while LIVE.
_NEVER_LIVE: Final = ("race_cost_us", "race_sampled_tuples", "race_changes", "race_us")
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

    batch: newest batch, None before the first. others: values sent only when they change. kinds:
    entity -> its kind.
    """

    batch: int | None = None
    plan_version: int | None = None
    knob_version: int | None = None
    others: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


def build(
    reader: Reader, run: Run, cursor: int, known: Known, changes: Sequence[Change]
) -> tuple[Delta, Known]:
    """The delta of a run after ``changes``, and what is known then. Raises StoreError."""
    changed = {name for change in changes for name in change.changed}
    known = _with_versions(reader, run.id, known, changed)
    since = 0 if known.batch is None else known.batch + 1
    batches = reader.batches(run.id, since_id=since, limit=MAX_BATCHES + 1)
    head: Delta = {"run": run.id, "c": cursor, "b": known.batch, "t": None, "st": run.state}
    head |= {"pv": known.plan_version, "kv": known.knob_version}
    if changes:
        head["t"] = round(max(change.time for change in changes), 3)
    head["new"] = [name for name in ALL_NEWS if name in {_NEWS.get(word) for word in changed}]
    if not batches:
        return head, known
    newest = batches[-1]
    version = sum(newest.plans.values()) or None
    values = reader.values(run.id, newest.id)
    head |= {"b": newest.id, "t": round(newest.time, 3), "pv": version}
    head |= {"st_time": newest.stream_time, "pts": _points(reader, run.id, batches, values)}
    if len(batches) > MAX_BATCHES:
        head |= {"gap": True, "new": list(ALL_NEWS)}
    known = replace(known, batch=newest.id, plan_version=version)
    return _with_values(head, values, known)


def snapshot(reader: Reader, run: Run, cursor: int, *, gap: bool = False) -> tuple[Delta, Known]:
    """All there is to know of a run now, as a delta. gap: it stands for lost ones.

    Raises StoreError.
    """
    last = reader.last_batch(run.id)
    before = Known(batch=last - _SNAPSHOT_POINTS if last and last >= _SNAPSHOT_POINTS else None)
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
        kinds = {entity.id: entity.kind for entity in reader.entities(run_id)}
        known = replace(known, kinds=kinds)
    if changed is None or "knobs" in changed:
        version = max((knob.version for knob in reader.knobs(run_id)), default=None)
        known = replace(known, knob_version=version)
    if changed is None or "plans" in changed:
        plans = reader.plans_at(run_id).values()
        known = replace(known, plan_version=sum(plan.version for plan in plans) or None)
    return known


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


def _with_values(delta: Delta, values: Values, known: Known) -> tuple[Delta, Known]:
    """The delta with the system's values and those of the rest that fit."""
    system = {name: rounded(value) for name, value in values.get("system", {}).items()}
    shown: dict[str, Any] = {"system": system}
    delta = {**delta, "v": shown}
    sent = dict(known.others)
    room = MAX_BYTES - len(encoded(delta).encode())
    operators = _operators(_of_kinds(values, known.kinds, "operator"), delta["b"])
    for entity, value in (*operators.items(), *_others(values, known.kinds)):
        size = len(encoded({entity: value}).encode())
        wanted = entity in operators or sent.get(entity) != value
        if wanted and size <= room:
            shown[entity] = sent[entity] = value
            room -= size
    return delta, replace(known, others=sent)


def _of_kinds(values: Values, kinds: Mapping[str, str], *wanted: str) -> Values:
    """Values of the entities of these kinds, by name."""
    return {entity: values[entity] for entity in sorted(values) if kinds.get(entity) in wanted}


def _operators(values: Values, batch: int) -> dict[str, Any]:
    """Values of the operators; others are first each batch, for when they do not all fit."""
    found = list(values)
    turn = _TURN * batch % len(found) if found else 0
    shown = {}
    for entity in found[turn:] + found[:turn]:
        own = {name: rounded(values[entity].get(name)) for name in _OPERATOR_PROPERTIES}
        shown[entity] = {name: value for name, value in own.items() if value is not None}
    return shown


def _others(values: Values, kinds: Mapping[str, str]) -> Iterable[tuple[str, Any]]:
    """Sizes, then monitors, then queries: the first are seen at a glance."""
    for entity, own in _of_kinds(values, kinds, *SIZED).items():
        yield entity, sizes_of(own)
    for entity, own in _of_kinds(values, kinds, "monitor").items():
        shown = {name: rounded(own[name]) for name in own if name not in _NEVER_LIVE}
        if shown:
            yield entity, shown
    for entity, own in _of_kinds(values, kinds, "query").items():
        answer = {name: rounded(own[name]) for name in ("answer_value",) if name in own}
        yield entity, {"matched_total": rounded(own.get("matched_total")), **answer}
