"""Handlers that read. Lists are in the order of time, newest last (runs: newest first)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from dashboard.api.common import find_run, flat, flat_type, read_number
from dashboard.api.registry import ApiCall
from dashboard.serving.errors import ApiError, missing
from dashboard.views.events import names
from dashboard.views.planlog import PlanLogEntry, plan_log
from dashboard.views.taps import tapped_place
from storage.tables.rows import DecisionEntry, SeriesData, StoredMisfit, StoredResult
from storage.vocabulary.kinds import InputState
from storage.vocabulary.records import (
    Batch,
    Command,
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Input,
    Knob,
    Matrix,
    PlanVersion,
    Run,
    Unit,
)
from storage.vocabulary.taps import TapSample

RunAnswer = flat_type(
    "RunAnswer",
    "A run; stream: names of its inputs; schema: that of the first. " + str(Run.__doc__),
    Run,
    stream=str,
    schema=Any,
)
InputAnswer = flat_type(
    "InputAnswer",
    "An input with its latest state; note says why. " + str(Input.__doc__),
    Input,
    state=InputState,
    note=str,
)
BatchAnswer = flat_type(
    "BatchAnswer",
    "A batch; plan_version: that of its first unit. " + str(Batch.__doc__),
    Batch,
    plan_version=int | None,
)
DecisionAnswer = flat_type(
    "DecisionAnswer",
    "A stored decision: time in Unix s; outcome null until measured. " + str(Decision.__doc__),
    Decision,
    time=float,
    outcome=DecisionOutcome | None,
)
EventAnswer = flat_type(
    "EventAnswer",
    "An event; id grows; batch -1 = before the first; time in Unix s. " + str(Event.__doc__),
    Event,
    id=int,
    batch=int,
    time=float,
)
MatrixAnswer = flat_type(
    "MatrixAnswer",
    "A matrix as of a batch, recorded at time (Unix s). " + str(Matrix.__doc__),
    Matrix,
    batch=int,
    time=float,
)


@dataclass(frozen=True, slots=True)
class Point:
    """A value of a series; of many samples: mean, extremes and their number n."""

    batch: int
    time: float
    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """One property of one entity over time. thinned: some points stand for many samples."""

    entity: str
    property: str
    unit: str
    thinned: bool
    points: tuple[Point, ...]


def runs(call: ApiCall) -> list[dict[str, Any]]:
    """All runs, newest first."""
    return [_run(run) for run in call.services.reader.runs()]


def run(call: ApiCall) -> dict[str, Any]:
    """One run."""
    return _run(find_run(call))


def _run(run: Run) -> dict[str, Any]:
    schema = run.inputs[0].schema if run.inputs else []
    return flat(run, stream=run.streams, schema=schema)


def inputs(call: ApiCall) -> list[dict[str, Any]]:
    """The streams the run reads."""
    streams = call.services.reader.inputs(find_run(call).id)
    return [flat(stream.input, state=stream.state, note=stream.note) for stream in streams]


def units(call: ApiCall) -> tuple[Unit, ...]:
    """Units alive at a batch."""
    return call.services.reader.units(find_run(call).id, call.query["at"])


def entities(call: ApiCall) -> list[Entity]:
    """Entities alive at a batch, by id, page by page."""
    return _page(call, call.services.reader.entities(find_run(call).id, call.query["at"]))


def queries(call: ApiCall) -> list[Entity]:
    """Registered queries at a batch, by id, page by page."""
    alive = call.services.reader.entities(find_run(call).id, call.query["at"])
    return _page(call, [entity for entity in alive if entity.kind == "query"])


def _page(call: ApiCall, entities: Sequence[Entity]) -> list[Entity]:
    """The first ones behind the id ``after``."""
    after = call.query["after"]
    left = (entity for entity in entities if after is None or entity.id > after)
    return list(islice(left, call.query["limit"]))


def plans(call: ApiCall) -> list[PlanVersion]:
    """Plan versions, newest last; ``order`` holds attribute names here."""
    query = call.query
    versions = call.services.reader.plans(find_run(call).id, query["until"], query["unit"])
    return [replace(plan, order=tuple(names(plan))) for plan in versions[-query["limit"] :]]


def decisions(call: ApiCall) -> list[dict[str, Any]]:
    """Stored decisions, newest last."""
    verdict = call.query["verdict"]
    entries = call.services.reader.decisions(
        find_run(call).id,
        until=call.query["until"],
        verdicts=None if verdict is None else [verdict],
        before_seq=call.query["before"],
        limit=call.query["limit"],
        unit=call.query["unit"],
    )
    return [_decision(entry) for entry in reversed(entries)]


def decision(call: ApiCall) -> dict[str, Any]:
    """One stored decision."""
    seq = read_number(call.path["seq"], "decision")
    entry = call.services.reader.decision(find_run(call).id, seq, call.query["unit"])
    if entry is None:
        known = "Rejected evaluations may be stored as a sample only."
        raise missing("stored decision", seq, known)
    return _decision(entry)


def plan_log_entries(call: ApiCall) -> list[PlanLogEntry]:
    """The plan log, unit by unit, newest last."""
    query = call.query
    asked = (find_run(call).id, query["until"], query["unit"], query["limit"])
    return plan_log(call.services.reader.looks(*asked))


def _decision(entry: DecisionEntry) -> dict[str, Any]:
    return flat(entry.decision, time=entry.time, outcome=entry.outcome)


def knobs(call: ApiCall) -> tuple[Knob, ...]:
    """Knobs and their values at a batch."""
    return call.services.reader.knobs(find_run(call).id, call.query["at"])


def commands(call: ApiCall) -> list[Command]:
    """Commands with their answers, newest last."""
    newest = call.services.reader.commands(find_run(call).id, call.query["limit"], taps=True)
    return list(reversed(newest))


def command(call: ApiCall) -> Command:
    """One command with its answer."""
    number = read_number(call.path["number"], "command")
    stored = call.services.reader.command(find_run(call).id, number)
    if stored is None:
        raise missing("command", number)
    return stored


def samples(call: ApiCall) -> SeriesAnswer:
    """One property of one entity over time."""
    query = call.query
    series = call.services.reader.series(
        find_run(call).id,
        query["entity"],
        query["property"],
        since_batch=query["since"],
        until_batch=query["until"],
        since=query["since_time"],
        until=query["until_time"],
        max_points=query["limit"],
    )
    if series is None:
        name = f"{query['entity']} {query['property']}"
        raise missing("series", name[:120], "No sample of it was ever published in this run.")
    return _series(series)


def _series(series: SeriesData) -> SeriesAnswer:
    columns = (series.batch, series.time, series.value, series.low, series.high, series.n)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    points = tuple(Point(*row) for row in rows)
    return SeriesAnswer(series.entity, series.property, series.unit, series.thinned, points)


def matrices(call: ApiCall) -> tuple[str, ...]:
    """Names of the run's matrices."""
    return call.services.reader.matrices(find_run(call).id, call.query["unit"])


def matrix(call: ApiCall) -> dict[str, Any]:
    """A matrix as of a batch."""
    name, query = call.path["name"], call.query
    stored = call.services.reader.matrix(find_run(call).id, name, query["at"], query["unit"])
    if stored is None:
        raise missing("matrix", name[:80], "None of this name is recorded by that batch.")
    return flat(stored.matrix, batch=stored.batch, time=stored.time)


def results(call: ApiCall) -> list[StoredResult]:
    """Recently matched tuples, newest last."""
    reader, query = call.services.reader, call.query["query"]
    run_id = find_run(call).id
    newest = reader.results(run_id, query, call.query["limit"], call.query["until"])
    if query is not None and not newest and not reader.has_query(run_id, query):
        raise missing("query", query[:80], f"See /api/v1/runs/{run_id}/queries.")
    return list(reversed(newest))


@dataclass(frozen=True, slots=True)
class TapsAnswer:
    """What went through an edge or an operator, and those behind it, in the batch that is nearest
    to the one asked for, of those in which it was tapped. entity: what gave it out, '' where it
    cannot be tapped; batch: null where it never was."""

    entity: str
    batch: int | None
    samples: list[TapSample]


def taps(call: ApiCall) -> TapsAnswer:
    """Samples of what went through a place of the plan."""
    run, reader = find_run(call).id, call.services.reader
    at = call.query["at"] if call.query["at"] is not None else reader.last_batch(run)
    place = tapped_place(reader, run, at, call.query["entity"])
    if place is None or at is None:
        return TapsAnswer("", None, [])
    stored = reader.taps(run, place.giver, at)
    batch = stored[0].batch_id if stored else None
    return TapsAnswer(place.giver, batch, [tap.sample for tap in stored])


def misfits(call: ApiCall) -> list[StoredMisfit]:
    """Tuples kept aside, newest last."""
    newest = call.services.reader.misfits(
        find_run(call).id, call.query["limit"], call.query["until"]
    )
    return list(reversed(newest))


def events(call: ApiCall) -> list[dict[str, Any]]:
    """Events, newest last."""
    _check_range(call)
    kind = call.query["kind"]
    stored = call.services.reader.events(
        find_run(call).id,
        call.query["since"],
        call.query["until"],
        call.query["limit"],
        None if kind is None else [kind],
        call.query["unit"],
    )
    return [flat(item.event, id=item.id, batch=item.batch, time=item.time) for item in stored]


def batches(call: ApiCall) -> list[dict[str, Any]]:
    """Executed batches, newest last."""
    _check_range(call)
    query = call.query
    executed = call.services.reader.batches(
        find_run(call).id, query["since"], query["until"], query["limit"]
    )
    return [flat(batch, plan_version=next(iter(batch.plans.values()), None)) for batch in executed]


def _check_range(call: ApiCall) -> None:
    since, until = call.query["since"], call.query["until"]
    if since is not None and until is not None and since > until:
        message = f"since = {since} is after until = {until}."
        raise ApiError(422, "bad_parameter", message, parameter="since")
