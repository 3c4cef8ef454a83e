"""The operator of pipelined filters: Arrow batches in, surviving tuples and a report out.

Runs in Spark's Python workers, and without Spark in tests; no pyspark here. The order lives inside:
each filter is asked, with a selection vector, about the tuples the ones before let pass.

A filter that raises an exception for a tuple decides nothing about it: if another filter drops the
tuple, it is dropped; if none does, it is kept aside with the error. So which tuples are emitted and
which are kept aside does not depend on the order, nor on what is profiled.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.filters import DROPPED, PASSED, UNKNOWN, CostSample, Outcomes, Probing
from backend.operators.filters.evaluators import Evaluator, Verdicts
from backend.operators.filters.timing import Stopwatch
from backend.operators.flags import PROFILED, RECENT

#: Columns the native stage adds; see backend.hosts.spark.filter_compiler.
FIRST, BITS = "_first", "_bits"
RAW, FLAW, ARRIVAL, REPORT = "_raw", "_flaw", "_arrival", "_report"
#: In ``_first``: no native filter dropped the tuple; the tuple does not fit its schema.
ALIVE, MISFIT = -1, -2
#: Profile tuples shown to the filters together: asking about a few takes as long as about many.
SHOWN_TOGETHER = 4096

Rows = NDArray[np.intp]


@dataclass
class Report:
    """What one task, or a whole batch, did. Lists are by position of the order."""

    n_filters: int
    evaluated: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    raised: list[int] = field(default_factory=list)
    costs: list[list[CostSample]] = field(default_factory=list)
    outcomes: list[Outcomes] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    n_passed: int = 0
    tuples_us: float = 0.0
    profile_us: float = 0.0

    def __post_init__(self) -> None:
        for counts in (self.evaluated, self.dropped, self.raised):
            counts.extend([0] * (self.n_filters - len(counts)))
        self.costs.extend([] for _ in range(self.n_filters - len(self.costs)))

    def profile(self) -> Outcomes:
        """int8[k, n]: the profile tuples, columns by position."""
        empty = np.zeros((0, self.n_filters), dtype=np.int8)
        return np.concatenate([empty, *self.outcomes])

    def packed(self) -> bytes:
        """The report as bytes, for the way from a worker to the driver."""
        fields = dict(self.__dict__)
        fields["outcomes"] = base64.b64encode(self.profile().tobytes()).decode()
        fields["costs"] = [[(c.n_tuples, c.us) for c in found] for found in self.costs]
        return zlib.compress(json.dumps(fields).encode(), 1)

    @classmethod
    def unpacked(cls, data: bytes) -> Report:
        """The report again."""
        fields = json.loads(zlib.decompress(data))
        bits = np.frombuffer(base64.b64decode(fields["outcomes"]), dtype=np.int8)
        fields["outcomes"] = [bits.reshape(-1, fields["n_filters"] or 1)]
        if not fields["n_filters"]:
            fields["outcomes"] = []
        fields["costs"] = [[CostSample(n, us) for n, us in found] for found in fields["costs"]]
        fields["errors"] = [(raw, error) for raw, error in fields["errors"]]
        return cls(**fields)

    def add(self, other: Report) -> None:
        """Take in another task's report."""
        for place in range(self.n_filters):
            self.evaluated[place] += other.evaluated[place]
            self.dropped[place] += other.dropped[place]
            self.raised[place] += other.raised[place]
            self.costs[place] += other.costs[place]
        self.outcomes += other.outcomes
        self.errors += other.errors
        self.n_passed += other.n_passed
        self.tuples_us += other.tuples_us
        self.profile_us += other.profile_us


@dataclass(frozen=True)
class FilterOperator:
    """One plan, ready to run. evaluators: of the filters behind the native ones, in plan order.

    attributes: the stream's, in order. order: all filters, by name, native ones first.
    """

    attributes: tuple[str, ...]
    order: tuple[str, ...]
    n_native: int
    evaluators: tuple[Evaluator, ...]
    probing: Probing

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of attributes and stage columns -> batches of attributes, RECENT and REPORT.

        REPORT is NULL in emitted tuples; one more row at the end holds the report alone.
        """
        report, schema = Report(len(self.order)), None
        profile = _Profile(self, report)
        for batch in batches:
            schema = schema or self._output(batch.schema)
            yield self._filter(batch, report, profile)
        if schema is not None:
            profile.show()
            cells = [pa.nulls(1, f.type) for f in schema]
            cells[-1] = pa.array([report.packed()], pa.binary())
            yield pa.RecordBatch.from_arrays(cells, schema=schema)

    def _filter(self, batch: pa.RecordBatch, report: Report, profile: _Profile) -> pa.RecordBatch:
        """The tuples of one batch that every filter lets pass; what was done goes to the report."""
        watch = Stopwatch()
        run = _Run(self, batch, report)
        run.filter()
        report.tuples_us += watch.us()
        profile.add(batch, run.first)
        kept = run.finish()
        schema = self._output(batch.schema)
        columns = [batch.column(name).take(kept) for name in schema.names[:-1]]
        return pa.RecordBatch.from_arrays(
            [*columns, pa.nulls(len(kept), pa.binary())], schema=schema
        )

    def _output(self, schema: pa.Schema) -> pa.Schema:
        fields = [schema.field(name) for name in (*self.attributes, RECENT)]
        return pa.schema([*fields, pa.field(REPORT, pa.binary())])

    def asked(self, first: NDArray[np.int64], position: int) -> NDArray[np.bool_]:
        """Which of the profile tuples dropped at ``first`` are to be shown to ``position``."""
        after: NDArray[np.bool_] = first < position
        if self.probing.rule == "all":
            return after
        if self.probing.rule == "next":
            after &= first + 1 == position
            return after
        is_chosen = self.probing.rule == "one" and self.order[position] == self.probing.filter
        return after if is_chosen else np.zeros_like(after)


class _Run:
    """One Arrow batch on its way through the filters."""

    def __init__(self, operator: FilterOperator, batch: pa.RecordBatch, report: Report) -> None:
        self.operator, self.batch, self.report = operator, batch, report
        self.first = np.array(batch.column(FIRST), dtype=np.int64)
        self.alive: Rows = np.flatnonzero(self.first == ALIVE)
        self.errors: dict[int, list[tuple[int, str]]] = {}
        for evaluator in operator.evaluators:
            evaluator.prepare(batch)

    def filter(self) -> None:
        """Regular execution: each filter on the tuples still alive."""
        for place, evaluator in enumerate(self.operator.evaluators, self.operator.n_native):
            if not len(self.alive):
                break
            verdicts = _timed(self.report, place, evaluator, self.batch, self.alive)
            self.report.evaluated[place] += len(self.alive)
            self.report.raised[place] += len(verdicts.errors)
            for at, text in verdicts.errors.items():
                self.errors.setdefault(int(self.alive[at]), []).append((place, text))
            is_dropped = verdicts.values == DROPPED
            self.first[self.alive[is_dropped]] = place
            self.report.dropped[place] += int(is_dropped.sum())
            self.alive = self.alive[~is_dropped]

    def finish(self) -> Rows:
        """The rows to emit; tuples to keep aside are reported."""
        aside = {row: found for row, found in self.errors.items() if self.first[row] == ALIVE}
        for row, found in sorted(aside.items()):
            text = "; ".join(f"{self.operator.order[place]}: {error}" for place, error in found)
            self.report.errors.append((self._raw(row), text))
        for row in np.flatnonzero(self.first == MISFIT).tolist():
            cells = (self.batch.column(name)[row].as_py() for name in (RAW, FLAW))
            raw, flaw = (str(cell) for cell in cells)
            self.report.errors.append((raw, flaw))
        if not aside:
            return self.alive
        return self.alive[~np.isin(self.alive, list(aside))]

    def _raw(self, row: int) -> str:
        names = self.operator.attributes
        values = {name: self.batch.column(name)[row].as_py() for name in names}
        return json.dumps(values, default=str, ensure_ascii=False)


class _Profile:
    """Sampled tuples that were dropped, to be shown to filters behind the one that did it."""

    def __init__(self, operator: FilterOperator, report: Report) -> None:
        self._operator, self._report = operator, report
        self._waiting: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []

    def add(self, batch: pa.RecordBatch, first: NDArray[np.int64]) -> None:
        """Take in the sampled tuples of a batch. first: position of the filter that dropped each
        tuple, or what FIRST says."""
        watch = Stopwatch()
        sampled = np.array(batch.column(PROFILED), dtype=np.bool_)
        rows: Rows = np.flatnonzero(sampled & (first >= 0))
        self._report.n_passed += int((sampled & (first == ALIVE)).sum())
        if len(rows):
            kept = [name for name in batch.schema.names if name not in (RAW, FLAW, FIRST)]
            self._waiting.append((batch.select(kept).take(rows), first[rows]))
        self._report.profile_us += watch.us()
        if sum(len(tuples) for tuples, _ in self._waiting) >= SHOWN_TOGETHER:
            self.show()

    def show(self) -> None:
        """Show what has come together."""
        if not self._waiting:
            return
        watch, operator = Stopwatch(), self._operator
        batch = pa.concat_batches([tuples for tuples, _ in self._waiting])
        first = np.concatenate([dropped_by for _, dropped_by in self._waiting])
        self._waiting = []
        outcomes = np.full((len(batch), len(operator.order)), UNKNOWN, dtype=np.int8)
        self._native_outcomes(outcomes, batch, first)
        for place, evaluator in enumerate(operator.evaluators, operator.n_native):
            outcomes[first > place, place] = PASSED
            outcomes[first == place, place] = DROPPED
            asked = np.flatnonzero(operator.asked(first, place))
            if len(asked):
                evaluator.prepare(batch)
                values = _timed(self._report, place, evaluator, batch, asked).values
                outcomes[asked, place] = np.where(values == DROPPED, DROPPED, PASSED)
        self._report.outcomes.append(outcomes)
        self._report.profile_us += watch.us()

    def _native_outcomes(
        self, outcomes: Outcomes, batch: pa.RecordBatch, first: NDArray[np.int64]
    ) -> None:
        """Native filters have looked at all sampled tuples; what was not asked stays unknown."""
        bits = np.array(batch.column(BITS), dtype=np.int64)
        for place in range(self._operator.n_native):
            known = (first >= place) | self._operator.asked(first, place)
            dropped = (bits >> place & 1).astype(np.int8)
            outcomes[:, place] = np.where(known, dropped, UNKNOWN)


def _timed(
    report: Report, place: int, evaluator: Evaluator, batch: pa.RecordBatch, rows: Rows
) -> Verdicts:
    watch = Stopwatch()
    verdicts = evaluator.evaluate(batch, rows)
    report.costs[place].append(CostSample(len(rows), watch.us()))
    return verdicts


def merged(reports: Sequence[bytes], n_filters: int) -> Report:
    """The reports of all tasks of a batch as one."""
    whole = Report(n_filters)
    for data in reports:
        whole.add(Report.unpacked(data))
    return whole


def by_name(order: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    """Counts by position as counts by filter."""
    return dict(zip(order, counts, strict=True))
