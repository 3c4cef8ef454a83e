"""What tasks tell of a batch, and how it comes together to the batch's result."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.operators.contract import (
    Emitted,
    InputResult,
    KeptAside,
    Match,
    Operator,
    UnitResult,
    Work,
)
from backend.operators.values import moment_text, python_values

#: Matched tuples of a batch and input that are told, at most.
RECENT_TUPLES: Final = 200
#: Tuples kept aside of a batch and input that are told, at most.
MISFITS_SHOWN: Final = 50


class Recent(NamedTuple):
    """Some matched tuples. keys, places: of each, what it drew and where it was in the input.
    values: an Arrow stream of them, b'' for none; query_ids: the names of each."""

    keys: NDArray[np.uint32]
    places: NDArray[np.int64]
    values: bytes
    query_ids: tuple[tuple[str, ...], ...]


class RecentMatches:
    """Keeps the matched tuples that draw least: some RECENT_TUPLES of all, evenly spread."""

    def __init__(self) -> None:
        self._values: list[pa.RecordBatch] = []
        self._ids: list[tuple[str, ...]] = []
        self._keys: list[NDArray[np.uint32]] = []
        self._places: list[NDArray[np.int64]] = []
        self._bar = 1 << 32

    def add(self, matched: pa.RecordBatch, places: NDArray[Any], keys: NDArray[np.uint32]) -> None:
        """Matched tuples, the last column their names; keys: what each draws."""
        chosen = np.flatnonzero(keys < self._bar)
        if len(chosen) > RECENT_TUPLES:
            least = np.argpartition(keys[chosen], RECENT_TUPLES - 1)[:RECENT_TUPLES]
            chosen = np.sort(chosen[least])
        if len(chosen):
            recent = matched.take(pa.array(chosen))
            self._values.append(recent.select(recent.schema.names[:-1]))
            self._ids += [tuple(ids) for ids in recent.column(recent.num_columns - 1).to_pylist()]
            self._keys.append(keys[chosen])
            self._places.append(places[chosen])
        held = np.concatenate([np.zeros(0, np.uint32), *self._keys])
        if len(held) > RECENT_TUPLES:
            self._bar = int(np.partition(held, RECENT_TUPLES)[RECENT_TUPLES])

    def packed(self) -> Recent:
        """The tuples, in order of arrival."""
        keys = np.concatenate([np.zeros(0, np.uint32), *self._keys])
        places = np.concatenate([np.zeros(0, np.int64), *self._places])
        chosen = np.sort(np.argsort(keys, kind="stable")[:RECENT_TUPLES])
        if not len(chosen):
            return Recent(keys, places, b"", ())
        values = pa.Table.from_batches(self._values).take(pa.array(chosen))
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, values.schema) as writer:
            writer.write_table(values)
        ids = tuple(self._ids[at] for at in chosen)
        return Recent(keys[chosen], places[chosen], out.getvalue().to_pybytes(), ids)


@dataclass
class UnitReport:
    """What a unit's operator did. told: its own report."""

    n_tuples: int = 0
    n_matched: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    report: bytes = b""
    _names: pa.Array[Any] | None = None
    _counts: NDArray[np.int64] | None = None

    def add(self, n_tuples: int, emitted: Emitted) -> None:
        """Count what it emitted from so many tuples."""
        self.n_tuples += n_tuples
        self.n_matched += len(emitted.rows)
        names = emitted.query_ids.flatten()
        if not len(names):
            return
        if not pa.types.is_dictionary(names.type):
            names = names.dictionary_encode()
        if self._names is None or not _is_same(self._names, names.dictionary):
            self._settle()
            self._names = names.dictionary
            self._counts = np.zeros(len(self._names), dtype=np.int64)
        assert self._counts is not None
        self._counts += np.bincount(names.indices.to_numpy(), minlength=len(self._counts))

    def told(self, work: Work) -> UnitReport:
        """Ready for the way to the driver."""
        self._settle()
        self.report = work.report()
        return self

    def _settle(self) -> None:
        if self._names is not None and self._counts is not None:
            used = np.flatnonzero(self._counts)
            names = self._names.take(pa.array(used)).to_pylist()
            self.matched.update(dict(zip(names, self._counts[used].tolist(), strict=True)))
        self._names = self._counts = None


def _is_same(column: pa.Array[Any], other: pa.Array[Any]) -> bool:
    """Whether two arrays are one, without looking at the values."""

    def place(array: pa.Array[Any]) -> tuple[object, ...]:
        buffers = (b.address if b is not None else None for b in array.buffers())
        return (len(array), array.offset, *buffers)

    return place(column) == place(other)


@dataclass
class InputReport:
    """What a task took from an input; as InputResult. n_rows: tuples, those kept aside included.
    n_passed: further ones, in row groups that were not read. latest: of the timestamp, as it is
    stored. through: the greatest arrival number of those read, plus one; 0 where the source does
    not number them. end: the arrival number at which the source says that there are no more tuples,
    -1 where it does not. parts: files written."""

    n_rows: int = 0
    n_passed: int = 0
    n_matched: int = 0
    n_misfits: int = 0
    n_missed: int = 0
    latest: int | None = None
    through: int = 0
    end: int = -1
    failure: str = ""
    misfits: list[KeptAside] = field(default_factory=list)
    missed: list[KeptAside] = field(default_factory=list)
    recent: Recent | None = None
    units: dict[str, UnitReport] = field(default_factory=dict)
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskReport:
    """What one task did."""

    partition: int
    inputs: Mapping[str, InputReport]

    @property
    def n_rows(self) -> int:
        """Tuples it took, of all inputs."""
        return sum(report.n_rows for report in self.inputs.values())

    def packed(self) -> bytes:
        """For the way to the driver."""
        return pickle.dumps(self, protocol=5)


class Merged(NamedTuple):
    """What all tasks took from one input. parts: the files to publish; through: as InputReport;
    ended: the source says that there are no more tuples than these; unwanted: files that were
    written and are not to be published."""

    result: InputResult
    units: Mapping[str, UnitResult]
    parts: tuple[str, ...]
    through: int
    ended: bool
    unwanted: tuple[str, ...] = ()


def merged(
    tasks: Sequence[TaskReport],
    input: str,
    schema: Schema,
    timestamp: str | None,
    operators: Mapping[str, Operator],
) -> Merged:
    """The reports of an input's tasks, in order of their partitions, as one."""
    ordered = sorted(tasks, key=lambda task: task.partition)
    reports = [task.inputs[input] for task in ordered if input in task.inputs]
    n_misfits = sum(report.n_misfits for report in reports)
    n_rows = sum(report.n_rows for report in reports)
    latest = [report.latest for report in reports if report.latest is not None]
    result = InputResult(
        n_tuples=n_rows - n_misfits + sum(report.n_passed for report in reports),
        n_matched=sum(report.n_matched for report in reports),
        n_misfits=n_misfits,
        misfits=_first([report.misfits for report in reports]),
        recent=_recent([report.recent for report in reports if report.recent is not None]),
        stream_time=_stream_time(latest, schema, timestamp),
        failure=next((report.failure for report in reports if report.failure), ""),
        n_missed=sum(report.n_missed for report in reports),
        missed=_first([report.missed for report in reports]),
    )
    units = {unit: _unit(operator, unit, reports) for unit, operator in operators.items()}
    parts = tuple(part for report in reports for part in report.parts)
    through = max((report.through for report in reports), default=0)
    end = max((report.end for report in reports), default=-1)
    return Merged(result, units, parts, through, through <= end)


def _first(tasks: Sequence[Sequence[KeptAside]]) -> tuple[KeptAside, ...]:
    """The first tuples of all tasks."""
    return tuple(islice(chain.from_iterable(tasks), MISFITS_SHOWN))


def _unit(operator: Operator, unit: str, tasks: Sequence[InputReport]) -> UnitResult:
    reports = [task.units[unit] for task in tasks if unit in task.units]
    matched: Counter[str] = Counter()
    for report in reports:
        matched.update(report.matched)
    return UnitResult(
        n_tuples=sum(report.n_tuples for report in reports),
        n_matched=sum(report.n_matched for report in reports),
        matched_by_query=dict(matched),
        report=operator.merged([report.report for report in reports]),
    )


def _stream_time(latest: Sequence[int], schema: Schema, timestamp: str | None) -> str:
    attribute = None if timestamp is None else schema.find(timestamp)
    return moment_text(max(latest, default=None), attribute.type) if attribute else ""


def _recent(tasks: Sequence[Recent]) -> tuple[Match, ...]:
    """Of all tasks those that drew least, in order of arrival."""
    rows: list[tuple[int, int, Match]] = []
    for recent in tasks:
        if not recent.values:
            continue
        table = pa.ipc.open_stream(recent.values).read_all()
        names, columns = table.column_names, [python_values(column) for column in table.columns]
        for key, place, ids, *values in zip(
            recent.keys.tolist(), recent.places.tolist(), recent.query_ids, *columns, strict=True
        ):
            match = Match(dict(zip(names, values, strict=True)), ids)
            rows.append((key, place, match))
    chosen = sorted(rows, key=lambda row: row[0])[:RECENT_TUPLES]
    return tuple(match for _, _, match in sorted(chosen, key=lambda row: row[1]))
