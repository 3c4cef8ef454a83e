"""Turns what happened in a batch into introspection records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from backend.engine.job import RunJob
from backend.engine.settings import ScopedSettings
from backend.model.ids import SYSTEM, knob_entity, output_id, source_id, source_queue
from backend.operators.contract import BatchResult, InputResult, KeptAside, Match
from backend.operators.network.core.reports import NetworkReport
from backend.operators.values import plain
from backend.workloads.file_counts import FilesRead
from storage.vocabulary.files import COLUMNS, FILES
from storage.vocabulary.kinds import InputState
from storage.vocabulary.load import load_matrix, skew
from storage.vocabulary.records import (
    SIGN,
    TAU,
    Batch,
    Entity,
    InputBatch,
    Json,
    Knob,
    Matrix,
    Misfit,
    ResultTuple,
    Sample,
)

#: The last matched tuples kept per batch and query.
RECENT_PER_QUERY: Final = 5
#: The last elements of an answer kept per batch: small relations can be told from them.
RECENT_ELEMENTS: Final = 20


def knob_rows(
    settings: ScopedSettings, batch: int, turned: Iterable[tuple[str, str]]
) -> tuple[Knob, ...]:
    """The knobs (scope, name) with the values in force from ``batch`` on; gone ones left out."""
    rows = []
    for scope, name in dict.fromkeys(turned):
        known = settings.scopes.get(scope)
        if known is None:
            continue
        spec = known.specs[name]
        rows.append(
            Knob(
                name=name,
                kind=spec.kind,
                value=known.values[name],
                default=spec.default,
                unit=spec.unit,
                help=spec.help,
                low=spec.low,
                high=spec.high,
                scale=spec.scale,
                choices=spec.choices,
                entity=knob_entity(scope, spec.entity),
                version=known.versions.get(name, 0),
                batch=batch,
                scope=scope,
            )
        )
    return tuple(rows)


def all_knobs(settings: ScopedSettings) -> list[tuple[str, str]]:
    """Every knob there is: (scope, name)."""
    return [(scope, name) for scope, knobs in settings.scopes.items() for name in knobs.values]


def changed_knobs(before: ScopedSettings, after: ScopedSettings) -> list[tuple[str, str]]:
    """The knobs that were turned, and those of scopes that came: (scope, name)."""
    return [
        (scope, name)
        for scope, name in all_knobs(after)
        if scope not in before.scopes
        or before.scopes[scope].versions.get(name) != after.scopes[scope].versions.get(name)
    ]


def batch_row(result: BatchResult, plans: Mapping[str, int]) -> Batch:
    """The batch with its counts, and the plan of each unit it ran under."""
    times = [input.stream_time for input in result.inputs.values() if input.stream_time]
    return Batch(
        id=result.batch_id,
        time=time.time(),
        duration_ms=result.duration_ms,
        n_tuples=result.n_tuples,
        n_matched=result.n_matched,
        n_misfits=result.n_misfits,
        plans=dict(plans),
        stream_time=max(times, default=""),
        timings_ms=result.timings_ms,
    )


def boundary_row(plans: Mapping[str, int]) -> Batch:
    """A boundary without data."""
    return Batch(None, time.time(), 0.0, 0, 0, 0, plans=dict(plans))


def input_row(name: str, result: InputResult) -> InputBatch:
    """What the batch took from an input."""
    state: InputState = "failed" if result.failure else "ended" if result.ended else "open"
    counts = (result.n_tuples, result.n_misfits, result.backlog_tuples)
    return InputBatch(name, *counts, result.stream_time, state, result.failure)


def input_samples(inputs: Mapping[str, InputResult]) -> list[Sample]:
    """What came from each input and went to its output, and what waits at it."""
    samples = []
    for name, input in inputs.items():
        samples.append(Sample(source_id(name), "reached_tuples", input.n_tuples, "tuples"))
        samples.append(Sample(output_id(name), "reached_tuples", input.n_matched, "tuples"))
        if input.backlog_tuples is not None:
            samples.append(
                Sample(source_queue(name), "size_tuples", input.backlog_tuples, "tuples")
            )
        if input.row_groups is not None:
            pairs = zip(("refuted_groups", "row_groups"), input.row_groups, strict=True)
            samples += [Sample(source_id(name), prop, n, "row groups") for prop, n in pairs]
        if (files := input.files) is not None:
            counts = {"read": files.n_read, "waiting": files.n_waiting, "refused": files.n_refused}
            samples += [
                Sample(source_id(name), f"files_{what}", n, "files") for what, n in counts.items()
            ]
    return samples


def partition_samples(partitions: Sequence[int]) -> list[Sample]:
    """How even the tasks of a batch were: 1 of one task."""
    return [Sample(SYSTEM, "partition_skew", skew(partitions), "")] if partitions else []


def system_samples(values: Mapping[str, tuple[float | None, str]]) -> list[Sample]:
    """Properties of the engine: value, unit."""
    return [Sample(SYSTEM, name, value, unit) for name, (value, unit) in values.items()]


def matched(result: BatchResult) -> dict[str, int]:
    """Query -> tuples that matched it in the batch."""
    units = result.units.values()
    return {name: n for part in units for name, n in part.matched_by_query.items()}


def batch_matrices(result: BatchResult) -> tuple[Matrix, ...]:
    """How the tuples of a batch were spread over its tasks, nothing of one task; what became of the
    files of its inputs."""
    load = load_matrix([{"tuples": n} for n in result.partitions])
    files_of = ((name, input.files) for name, input in result.inputs.items())
    return (*load, *(_files(name, files) for name, files in files_of if files is not None))


def _files(name: str, files: FilesRead) -> Matrix:
    counts = {
        file: (count.n_tuples, count.n_misfits, int(count.is_refused))
        for file, count in files.counts.items()
    }
    waiting = {file: (None, None, None) for file in files.waiting if file not in counts}
    rows: Mapping[str, Sequence[int | None]] = {**counts, **waiting}
    return Matrix(f"{FILES}:{name}", FILES, tuple(rows), COLUMNS, tuple(rows.values()))


def framed(job: RunJob, held: str) -> tuple[Entity, ...]:
    """The entities of the engine and its inputs. held: why no batch begins, '' while they do."""
    facts = {name: input.source for name, input in job.inputs.items()}
    engine = {"held": held, "steps": list(job.steps)} if held else {}
    return frame_entities(facts, job.sink, engine)


def frame_entities(
    inputs: Mapping[str, Mapping[str, Json]], sink: Mapping[str, Json], engine: Mapping[str, Json]
) -> tuple[Entity, ...]:
    """What every run has: the engine, with its facts; of each input (name -> facts) source, queue
    and output."""
    entities = [Entity(SYSTEM, "system", "Engine", dict(engine), role="system")]
    for name, facts in inputs.items():
        entities += [
            Entity(source_id(name), "operator", name, dict(facts), role="source"),
            Entity(source_queue(name), "queue", f"Waiting at {name}", role="queue"),
            Entity(output_id(name), "operator", "Output", dict(sink), role="output"),
        ]
    return tuple(entities)


def result_rows(result: BatchResult) -> tuple[ResultTuple, ...]:
    """The last few matched tuples of each query, in order of arrival, and the last elements of the
    answers of networks, in order of time."""
    matched = (row for n, input in result.inputs.items() for row in _latest(n, input.recent))
    reports = (unit.report for unit in result.units.values())
    answered = (
        row for report in reports if isinstance(report, NetworkReport) for row in _elements(report)
    )
    return (*matched, *answered)


def _elements(report: NetworkReport) -> list[ResultTuple]:
    """Elements of answers with their timestamp (ticks) and sign, under names no column can have."""
    return [
        ResultTuple(
            {n: plain(v) for n, v in element.values.items()}
            | {TAU: element.tau, SIGN: element.sign},
            (query,),
        )
        for query, elements in report.recent.items()
        for element in elements[-RECENT_ELEMENTS:]
    ]


def _latest(input: str, recent: Sequence[Match]) -> list[ResultTuple]:
    left: dict[str, int] = {}
    kept: list[ResultTuple] = []
    for match in reversed(recent):
        wanted = [q for q in match.query_ids if left.setdefault(q, RECENT_PER_QUERY) > 0]
        for query in wanted:
            left[query] -= 1
        if wanted:
            values = {name: plain(value) for name, value in match.values.items()}
            kept.append(ResultTuple(values, match.query_ids, input))
    return kept[::-1]


def misfit_rows(inputs: Mapping[str, InputResult]) -> tuple[Misfit, ...]:
    """The first of the tuples kept aside, of each input."""
    return tuple(
        Misfit(m.raw, m.error, name, _place(input, m))
        for name, input in inputs.items()
        for m in input.misfits
    )


def _place(input: InputResult, misfit: KeptAside) -> str:
    """Where a misfit stands, '' where that is not known."""
    return "" if input.files is None else input.files.places.get((misfit.raw, misfit.error), "")
