"""The operator of pipelined filters: each is asked about the tuples the ones before let pass.

A filter that raises an exception for a tuple decides nothing about it: if another filter drops the
tuple, it is dropped; if none does, it is kept aside with the error. So which tuples are emitted and
which are kept aside does not depend on the order, nor on what is profiled.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.conditions import FunctionPredicate, TableName, WindowMember
from backend.model.filters import (
    DROPPED,
    PASSED,
    UNKNOWN,
    WHOLE_EVERY,
    CostSample,
    Filter,
    Outcomes,
    Probing,
    WholeTuples,
    shown_to,
)
from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators.contract import Chunk, Emitted, Work
from backend.operators.filters.counts import FilterCounts
from backend.operators.filters.evaluators import ARRIVAL, Evaluator, Verdicts, make_evaluator
from backend.operators.filters.native import NativeEvaluator
from backend.operators.filters.timing import Stopwatch
from backend.workloads.relations import SlidingRelation

#: Profile tuples shown to the filters together: asking about a few takes as long as about many.
SHOWN_TOGETHER: Final = 4096
#: No filter dropped the tuple.
_ALIVE: Final = -1

Rows = NDArray[np.intp]
Relations = Mapping[WindowMember, SlidingRelation]


@dataclass(frozen=True)
class PipelineOperator:
    """The filters of one query, in the plan's order. query: its name; None: nothing is emitted.

    functions, relations: what the filters call and look into; others are left out. profile_prob:
    share of tuples to profile, [0, 1]; probing: which filters those are shown to.
    """

    query: str | None
    schema: Schema
    filters: tuple[Filter, ...]
    functions: Functions
    relations: Relations
    probing: Probing
    profile_prob: float

    def __post_init__(self) -> None:
        """What no filter needs is not sent to workers."""
        calls = [f.condition for f in self.filters if isinstance(f.condition, FunctionPredicate)]
        tables = {a.table for c in calls for a in c.arguments if isinstance(a, TableName)}
        called, own = {call.function for call in calls}, self.functions
        needed = Functions(
            {name: f for name, f in own.functions.items() if name in called},
            {name: table for name, table in own.tables.items() if name in tables},
        )
        members = {f.condition for f in self.filters}
        looked_into = {m: r for m, r in self.relations.items() if m in members}
        object.__setattr__(self, "functions", needed)
        object.__setattr__(self, "relations", looked_into)

    @property
    def order(self) -> tuple[str, ...]:
        """The filters, by name."""
        return tuple(f.name for f in self.filters)

    @property
    def selects(self) -> bool:
        """There is a query."""
        return self.query is not None

    def open(self, batch_id: int, partition: int) -> Work:
        """Begin a task."""
        return _Filtering(self)

    def merged(self, reports: Sequence[bytes]) -> FilterCounts:
        """The counts and profiles of all tasks."""
        order = self.order
        tallies: list[_Tally] = [pickle.loads(data) for data in reports]
        empty = np.zeros((0, len(order)), dtype=np.int8)

        def summed(counts: str) -> dict[str, int]:
            rows = [getattr(tally, counts) for tally in tallies]
            return {name: sum(row[place] for row in rows) for place, name in enumerate(order)}

        return FilterCounts(
            n_evaluated=sum(tally.n_taken for tally in tallies),
            evaluated=summed("evaluated"),
            dropped=summed("dropped"),
            raised=summed("raised"),
            outcomes=np.concatenate([empty, *(o for tally in tallies for o in tally.outcomes)]),
            n_passed=sum(tally.n_passed for tally in tallies),
            costs={
                name: [CostSample(*cost) for tally in tallies for cost in tally.costs[place]]
                for place, name in enumerate(order)
            },
            tuples_us=sum(tally.tuples_us for tally in tallies),
            profile_us=sum(tally.profile_us for tally in tallies),
            whole=self._whole(tallies) if self.probing.spared else None,
        )

    def _whole(self, tallies: Sequence[_Tally]) -> WholeTuples:
        rows = [np.zeros(0, dtype=np.bool_), *(rows for tally in tallies for rows in tally.whole)]
        return WholeTuples(np.concatenate(rows), sum(tally.n_passed_whole for tally in tallies))

    def asked(self, first: Rows, position: int) -> NDArray[np.bool_]:
        """Which of the profiled tuples dropped at ``first`` are to be shown to ``position``."""
        rule, name = self.probing.rule, self.probing.filter
        chosen = self.order.index(name) if name in self.order else None
        return shown_to(rule, first, position, chosen)


@dataclass
class _Tally:
    """What one task did, by position of the order. costs: (tuples, microseconds)."""

    n_filters: int
    n_taken: int = 0
    n_passed: int = 0
    n_passed_whole: int = 0
    tuples_us: float = 0.0
    profile_us: float = 0.0
    whole: list[NDArray[np.bool_]] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    raised: list[int] = field(default_factory=list)
    costs: list[list[tuple[int, float]]] = field(default_factory=list)
    outcomes: list[Outcomes] = field(default_factory=list)

    def __post_init__(self) -> None:
        for counts in (self.evaluated, self.dropped, self.raised):
            counts.extend([0] * self.n_filters)
        self.costs.extend([] for _ in range(self.n_filters))

    def timed(
        self, place: int, evaluator: Evaluator, batch: pa.RecordBatch, rows: Rows
    ) -> Verdicts:
        """Ask a filter, and note what it took."""
        watch = Stopwatch()
        verdicts = evaluator.evaluate(batch, rows)
        self.costs[place].append((len(rows), watch.us()))
        return verdicts


class _Filtering:
    """The filters at work on one task's part of a batch."""

    def __init__(self, operator: PipelineOperator) -> None:
        self._operator = operator
        self._evaluators = tuple(_evaluator(f, operator) for f in operator.filters)
        self._tally = _Tally(len(operator.filters))
        self._profile = _Profile(operator, self._evaluators, self._tally)

    def take(self, chunk: Chunk) -> Emitted:
        """The tuples that every filter lets pass."""
        operator, tally = self._operator, self._tally
        tally.n_taken += len(chunk.tuples)
        if operator.query is None:
            return Emitted(np.zeros(0, np.int32), _named("", 0), {})
        watch = Stopwatch()
        batch = chunk.tuples
        if chunk.arrivals is not None and operator.relations:
            batch = batch.append_column(ARRIVAL, pa.array(chunk.arrivals, pa.int64()))
        first, flaws = self._filter(batch)
        tally.tuples_us += watch.us()
        drawn = operator.profile_prob
        whole = chunk.sampled(drawn / WHOLE_EVERY)
        self._profile.add(batch, first, chunk.sampled(drawn), whole)
        alive = first == _ALIVE
        aside = {row: text for row, text in flaws.items() if alive[row]}
        alive[list(aside)] = False
        rows = np.flatnonzero(alive).astype(np.int32)
        return Emitted(rows, _named(operator.query, len(rows)), aside)

    def _filter(self, batch: pa.RecordBatch) -> tuple[Rows, dict[int, str]]:
        """Regular execution: the position that dropped each tuple, or _ALIVE; errors by row."""
        tally, names = self._tally, self._operator.order
        first = np.full(len(batch), _ALIVE, dtype=np.intp)
        alive: Rows = np.arange(len(batch))
        errors: dict[int, list[str]] = {}
        for evaluator in self._evaluators:
            evaluator.prepare(batch)
        for place, evaluator in enumerate(self._evaluators):
            if not len(alive):
                break
            verdicts = tally.timed(place, evaluator, batch, alive)
            for at, text in verdicts.errors.items():
                errors.setdefault(int(alive[at]), []).append(f"{names[place]}: {text}")
            is_dropped = verdicts.values == DROPPED
            tally.evaluated[place] += len(alive)
            tally.raised[place] += len(verdicts.errors)
            tally.dropped[place] += int(is_dropped.sum())
            first[alive[is_dropped]] = place
            alive = alive[~is_dropped]
        return first, {row: "; ".join(messages) for row, messages in errors.items()}

    def report(self) -> bytes:
        """What was counted and profiled."""
        self._profile.show()
        return pickle.dumps(self._tally)


class _Profile:
    """Sampled tuples that were dropped, to be shown to filters behind the one that did it."""

    def __init__(
        self, operator: PipelineOperator, evaluators: Sequence[Evaluator], tally: _Tally
    ) -> None:
        self._operator, self._evaluators, self._tally = operator, evaluators, tally
        self._spared = operator.probing.spared_places(operator.order)
        self._waiting: list[tuple[pa.RecordBatch, Rows, NDArray[np.bool_]]] = []

    def add(
        self,
        batch: pa.RecordBatch,
        first: Rows,
        sampled: NDArray[np.bool_],
        whole: NDArray[np.bool_],
    ) -> None:
        """Take in the sampled tuples of a batch. first: position of the filter that dropped each
        tuple, or _ALIVE; whole: those of the sampled ones that no filter is spared."""
        watch = Stopwatch()
        rows: Rows = np.flatnonzero(sampled & (first != _ALIVE))
        self._tally.n_passed += int(sampled.sum()) - len(rows)
        self._tally.n_passed_whole += int((whole & (first == _ALIVE)).sum())
        if len(rows):
            self._waiting.append((batch.take(pa.array(rows)), first[rows], whole[rows]))
        self._tally.profile_us += watch.us()
        if sum(len(tuples) for tuples, *_ in self._waiting) >= SHOWN_TOGETHER:
            self.show()

    def show(self) -> None:
        """Show what has come together."""
        if not self._waiting:
            return
        watch, operator, tally = Stopwatch(), self._operator, self._tally
        batch = pa.concat_batches([tuples for tuples, *_ in self._waiting])
        first = np.concatenate([dropped_by for _, dropped_by, _ in self._waiting])
        whole = np.concatenate([is_whole for *_, is_whole in self._waiting])
        self._waiting = []
        outcomes = np.full((len(batch), len(operator.filters)), UNKNOWN, dtype=np.int8)
        for place, evaluator in enumerate(self._evaluators):
            outcomes[first > place, place] = PASSED
            outcomes[first == place, place] = DROPPED
            is_asked = whole | ~self._spared[first, place]
            asked = np.flatnonzero(is_asked & operator.asked(first, place))
            if len(asked):
                evaluator.prepare(batch)
                values = tally.timed(place, evaluator, batch, asked).values
                outcomes[asked, place] = np.where(values == DROPPED, DROPPED, PASSED)
        tally.outcomes.append(outcomes)
        tally.whole.append(whole)
        tally.profile_us += watch.us()


def _evaluator(filter_: Filter, operator: PipelineOperator) -> Evaluator:
    if isinstance(filter_.condition, FunctionPredicate | WindowMember):
        return make_evaluator(filter_, operator.functions, operator.relations)
    return NativeEvaluator(filter_.condition)


def _named(query: str, n: int) -> pa.ListArray[Any]:
    """The one name, n times."""
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([query]))
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32)), names)
