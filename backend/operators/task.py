"""One task's work on the inputs of a batch; the same in Spark's workers and in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.model.draws import draws, seed_of
from backend.model.schema import Schema
from backend.operators.contract import Chunk, Emitted, KeptAside, Operator
from backend.operators.parts import Parts, sink_schema
from backend.operators.reports import (
    MISFITS_SHOWN,
    InputReport,
    RecentMatches,
    TaskReport,
    UnitReport,
)
from backend.operators.values import json_lines, shown_number
from backend.workloads.contract import CORRUPT, NOT_READ, REASON
from backend.workloads.text_values import ARROW_TYPES
from storage.vocabulary.names import in_folder

#: Tuples a task is best given at once.
CHUNK_TUPLES: Final = 65_536

Arrivals = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TaskInput:
    """An input as tasks see it. number: its place among the inputs, which seeds what is drawn.
    timestamp: the attribute with event time, or None. operators: by unit."""

    number: int
    schema: Schema
    timestamp: str | None
    operators: Mapping[str, Operator]


@dataclass(frozen=True, slots=True)
class TaskJob:
    """What the tasks of a batch have in common. folder: the run's own part of the sink, '' where
    nothing is written; format: of its files."""

    batch_id: int
    seed: int
    inputs: Mapping[str, TaskInput]
    folder: str
    format: str


def stream_folder(folder: str, stream: str) -> str:
    """Where the matches of a stream lie: folders ``stream=NAME`` are a column to readers."""
    return f"{folder}/stream={in_folder(stream)}"


class BatchTask:
    """The tuples of one partition of a batch, input by input, chunk by chunk."""

    def __init__(self, job: TaskJob, partition: int) -> None:
        self._job, self._partition = job, partition
        self._inputs: dict[str, _InputTask] = {}

    def take(self, input: str, rows: pa.RecordBatch, arrivals: Arrivals | None = None) -> None:
        """Process tuples: columns as ``backend.workloads.contract.arrow_schema``. arrivals: their
        numbers in the input, where it has any."""
        if len(rows):
            self._of(input).take(rows, arrivals)

    def pass_over(self, input: str, n_tuples: int, times: pa.Array[Any] | None) -> None:
        """Count tuples that fit their schema, satisfy no query, and are not read. times: theirs,
        where the input has a timestamp."""
        self._of(input).pass_over(n_tuples, times)

    def fail(self, input: str, why: str) -> None:
        """An input cannot be read on."""
        self._of(input).failure = why

    def end(self, input: str, number: int) -> None:
        """Its source says that there are no tuples from this arrival number on."""
        report = self._of(input).input_report
        report.end = max(report.end, number)

    def report(self) -> bytes:
        """Finish the files, and tell what was done."""
        reports = {name: task.report() for name, task in self._inputs.items()}
        return TaskReport(self._partition, reports).packed()

    def _of(self, input: str) -> _InputTask:
        if input not in self._inputs:
            self._inputs[input] = _InputTask(self._job, input, self._partition)
        return self._inputs[input]


class _InputTask:
    """One input's share of a task."""

    def __init__(self, job: TaskJob, name: str, partition: int) -> None:
        self._input = own = job.inputs[name]
        self._works = {
            unit: operator.open(job.batch_id, partition) for unit, operator in own.operators.items()
        }
        self._units = {unit: UnitReport() for unit in self._works}
        self._seed = seed_of(job.seed, own.number, job.batch_id, partition)
        self._numbered_seed = seed_of(job.seed, own.number)
        self._schema = sink_schema(own.schema)
        self._parts = None
        if job.folder:
            folder = stream_folder(job.folder, name)
            self._parts = Parts(folder, job.format, self._schema, job.batch_id, partition)
        self._recent = RecentMatches()
        self.input_report = InputReport()
        self.failure = ""

    def take(self, rows: pa.RecordBatch, arrivals: Arrivals | None) -> None:
        report = self.input_report
        if arrivals is None:
            places = np.arange(report.n_rows, report.n_rows + len(rows), dtype=np.int64)
        else:
            places = arrivals
            report.through = max(report.through, int(arrivals.max()) + 1)
        report.n_rows += len(rows)
        tuples, fitting = self._fitting(rows)
        if fitting is not None:
            places = places[fitting]
            arrivals = None if arrivals is None else arrivals[fitting]
        if not len(tuples) or not self._works:
            return
        seed = self._seed if arrivals is None else self._numbered_seed
        self._run(Chunk(tuples, draws(seed, places), arrivals), places, ~seed)

    def pass_over(self, n_tuples: int, times: pa.Array[Any] | None) -> None:
        self.input_report.n_passed += n_tuples
        if times is not None:
            self._see(times)

    def _run(self, chunk: Chunk, places: NDArray[Any], seed: int) -> None:
        emitted: list[Emitted] = []
        flaws: dict[int, list[str]] = {}
        for unit, work in self._works.items():
            emission = work.take(chunk)
            self._units[unit].add(len(chunk.tuples), emission)
            emitted.append(emission)
            for row, text in emission.flaws.items():
                flaws.setdefault(row, []).append(text)
        matched = together(emitted)
        self._emit(chunk, matched, places, seed)
        if flaws:
            self._tell_flaws(chunk, flaws, frozenset(matched.rows.tolist()))

    def _tell_flaws(
        self, chunk: Chunk, flaws: Mapping[int, Sequence[str]], matched: frozenset[int]
    ) -> None:
        """Tuples that some query could not decide on: kept aside unless they match another."""
        raws = json_lines(chunk.tuples.take(pa.array(list(flaws), pa.int64())))
        flawed = dict(zip(flaws, raws, strict=True))
        kept_aside = {row: KeptAside(raw, "; ".join(flaws[row])) for row, raw in flawed.items()}
        missed = [kept_aside[row] for row in kept_aside if row in matched]
        report = self.input_report
        report.n_missed += len(missed)
        report.missed += missed[: MISFITS_SHOWN - len(report.missed)]
        if len(missed) < len(kept_aside):
            self._keep_aside([kept_aside[row] for row in kept_aside if row not in matched])

    def _emit(self, chunk: Chunk, emitted: Emitted, places: NDArray[Any], seed: int) -> None:
        rows = emitted.rows
        if not len(rows):
            return
        self.input_report.n_matched += len(rows)
        columns = [column.take(pa.array(rows)) for column in chunk.tuples.columns]
        matched = pa.RecordBatch.from_arrays([*columns, emitted.query_ids], schema=self._schema)
        if self._parts is not None:
            self._parts.add(matched)
        own = places[rows]
        self._recent.add(matched, own, draws(seed, own))

    def _fitting(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[Any] | None]:
        """The tuples that fit, as their schema has them, and which those are (None: all)."""
        own = self._input
        if own.timestamp is not None:
            self._see(rows.column(own.timestamp))
        bad, tuples = unfit(rows, own.timestamp), typed(rows, own.schema)
        if bad is None:
            return tuples, None
        why = rows.column(REASON).filter(bad) if REASON in rows.schema.names else None
        self._set_aside(tuples.filter(bad), rows.column(CORRUPT).filter(bad), why)
        fits = pc.invert(bad)
        return tuples.filter(fits), fits.to_numpy(zero_copy_only=False)

    def _see(self, times: pa.Array[Any]) -> None:
        """Event time comes to the latest of these."""
        latest, before = shown_number(times), self.input_report.latest
        if latest is not None:
            self.input_report.latest = latest if before is None else max(before, latest)

    def _set_aside(
        self, tuples: pa.RecordBatch, raw: pa.Array[Any], why: pa.Array[Any] | None
    ) -> None:
        absent = f"{self._input.timestamp} is NULL, and it is the timestamp"
        reasons = [None] * len(raw) if why is None else why.to_pylist()
        self._keep_aside(
            [
                KeptAside(line, absent) if text is None else KeptAside(text, reason or NOT_READ)
                for text, line, reason in zip(
                    raw.to_pylist(), json_lines(tuples), reasons, strict=True
                )
            ]
        )

    def _keep_aside(self, tuples: Sequence[KeptAside]) -> None:
        report = self.input_report
        report.n_misfits += len(tuples)
        report.misfits += tuples[: MISFITS_SHOWN - len(report.misfits)]
        if self._parts is not None:
            self._parts.keep_aside(tuples)

    def report(self) -> InputReport:
        report = self.input_report
        report.recent = self._recent.packed()
        report.units = {unit: tally.told(self._works[unit]) for unit, tally in self._units.items()}
        report.parts = () if self._parts is None else self._parts.close()
        report.failure = self.failure
        return report


def unfit(rows: pa.RecordBatch, timestamp: str | None) -> pa.Array[Any] | None:
    """bool[n]: the tuples that do not fit their schema, or have no timestamp; None: all fit."""
    corrupt = rows.column(CORRUPT)
    bad = corrupt.is_valid() if corrupt.null_count < len(rows) else None
    if timestamp is None or not rows.column(timestamp).null_count:
        return bad
    absent = rows.column(timestamp).is_null()
    return absent if bad is None else pc.or_(bad, absent)


def typed(rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """The attributes alone, of the types the schema has."""
    columns = []
    for attribute in schema.attributes:
        column, wanted = rows.column(attribute.name), ARROW_TYPES[attribute.type]
        columns.append(column if column.type == wanted else pc.cast(column, wanted))
    return pa.RecordBatch.from_arrays(columns, names=list(schema.names))


def together(emitted: Sequence[Emitted]) -> Emitted:
    """What several operators emitted of one chunk: each tuple once, with all its names, sorted."""
    some = [emission for emission in emitted if len(emission.rows)]
    if len(some) == 1:
        return some[0]
    rows = [
        np.repeat(emission.rows, np.diff(emission.query_ids.offsets.to_numpy()))
        for emission in some
    ]
    names = [_texts(emission.query_ids.flatten()) for emission in some]
    coded = pa.concat_arrays([pa.array([], pa.string()), *names]).dictionary_encode()
    known = coded.dictionary.to_pylist()
    ordered = sorted(range(len(known)), key=known.__getitem__)
    rank_of = np.empty(len(known), dtype=np.int32)
    rank_of[ordered] = np.arange(len(known), dtype=np.int32)
    places = np.concatenate([np.zeros(0, np.int32), *rows])
    ranks = rank_of[coded.indices.to_numpy()]
    order = np.lexsort((ranks, places))
    places, ranks = places[order], ranks[order]
    begins = np.flatnonzero(np.diff(places, prepend=-1))
    dictionary = pa.array([known[k] for k in ordered], pa.string())
    listed = pa.DictionaryArray.from_arrays(pa.array(ranks), dictionary)
    starts = pa.array(np.append(begins, len(ranks)).astype(np.int32))
    return Emitted(places[begins], pa.ListArray.from_arrays(starts, listed), {})


def _texts(names: pa.Array[Any]) -> pa.Array[Any]:
    return names.dictionary_decode() if pa.types.is_dictionary(names.type) else names
