"""Batches of pipelined filters without Spark: native filters by definition, then the operator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from backend.engine.execution import FilterBatchResult, FilterSnapshot, KeptAside, Match

from backend.model.conditions import Call, Condition, WindowMember
from backend.model.filters import Filter
from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators import flags
from backend.operators.filters import operator as op
from backend.operators.filters.evaluators import make_evaluator
from backend.workloads.contract import ARROW_TYPES
from tests.oracles.selection import truth

Row = Mapping[str, Any]


def execute(
    rows: Sequence[Row],
    snapshot: FilterSnapshot,
    schema: Schema,
    functions: Functions,
    seed: int = 1,
) -> FilterBatchResult:
    """What a batch of ``rows`` comes to; all tuples fit the schema."""
    plan = snapshot.plan
    filters = {f.name: f for f in snapshot.filters}
    native = [filters[name] for name in plan.native]
    evaluators = tuple(make_evaluator(filters[name], functions, {}) for name in plan.arrow)
    operator = op.FilterOperator(
        schema.names, plan.order, plan.n_native, evaluators, snapshot.probing
    )
    rng = random.Random(seed * 1_000_003 + snapshot.batch_id)
    profiled = [rng.random() < snapshot.profile_prob for _ in rows]
    drops = [[not _holds(f, row, schema) for f in native] for row in rows]
    first = [next((i for i, drop in enumerate(d) if drop), op.ALIVE) for d in drops]
    through = [i for i, f in enumerate(first) if f == op.ALIVE or profiled[i]]
    if snapshot.query is None:
        through = []
    batch = _batch(schema, [rows[i] for i in through], [first[i] for i in through])
    bits = [sum(1 << place for place, drop in enumerate(drops[i]) if drop) for i in through]
    batch = batch.append_column(op.BITS, pa.array(bits, pa.int64()))
    batch = batch.append_column(
        flags.PROFILED, pa.array([profiled[i] for i in through], pa.bool_())
    )
    found = list(operator.run(iter([batch])))
    report = op.merged([found[-1].column(op.REPORT)[0].as_py()], len(plan.order))
    emitted = [{n: row[n] for n in schema.names} for row in found[0].to_pylist()]
    for place in range(plan.n_native):
        report.evaluated[place] = sum(f == op.ALIVE or f >= place for f in first)
        report.dropped[place] = sum(f == place for f in first)
    return _result(rows, snapshot, report, emitted)


def _result(
    rows: Sequence[Row],
    snapshot: FilterSnapshot,
    report: op.Report,
    emitted: Sequence[Row],
) -> FilterBatchResult:
    order, query = snapshot.plan.order, snapshot.query or ""
    return FilterBatchResult(
        batch_id=snapshot.batch_id,
        n_tuples=len(rows) - len(report.errors),
        n_matched=len(emitted),
        n_misfits=len(report.errors),
        visits=sum(report.evaluated),
        reached=op.by_name(order, report.evaluated),
        dropped=op.by_name(order, report.dropped),
        sample={},
        matched_by_query={query: len(emitted)} if emitted else {},
        recent=tuple(Match(row, (query,)) for row in emitted),
        misfits=tuple(KeptAside(*error) for error in report.errors),
        duration_ms=100.0,
        n_evaluated=len(rows),
        outcomes=report.profile(),
        n_passed=report.n_passed,
        costs={name: report.costs[place] for place, name in enumerate(order)},
        raised=op.by_name(order, report.raised),
        tuples_us=report.tuples_us,
        profile_us=report.profile_us,
    )


def _batch(schema: Schema, rows: Sequence[Row], first: Sequence[int]) -> pa.RecordBatch:
    n = len(rows)
    columns: dict[str, Any] = {
        a.name: pa.array([row[a.name] for row in rows], ARROW_TYPES[a.type])
        for a in schema.attributes
    }
    columns[op.FIRST] = pa.array(np.array(first, dtype=np.int32))
    columns[op.RAW] = columns[op.FLAW] = pa.nulls(n, pa.string())
    columns[flags.RECENT] = pa.array([False] * n, pa.bool_())
    return pa.RecordBatch.from_pydict(columns)


def _holds(filter_: Filter, row: Row, schema: Schema) -> bool:
    condition = filter_.condition
    assert not isinstance(condition, Call | WindowMember)
    native: Condition = condition
    return truth(native, row, schema) is True
