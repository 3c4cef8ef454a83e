"""Random tuples and conditions of every type, and operators run over them chunk by chunk."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from backend.model.conditions import And, Comparison, Condition, NullTest, Op, Or
from backend.model.schema import Schema
from backend.operators.contract import Chunk, Operator
from backend.workloads.text_values import ARROW_TYPES

Row = Mapping[str, Any]
SCHEMA = Schema.parse(
    "id int, i int, w bigint, x double, f float, s string, b boolean, d date, t timestamp"
)
OPS: tuple[Op, ...] = ("=", "<>", "<", "<=", ">", ">=")
DAY, NOON = date(2013, 1, 1), datetime(2013, 1, 1, 12)
CONSTANTS: dict[str, list[Any]] = {
    "i": [-3, 0, 2, 2.5, 7],
    "w": [0, 2**53, 2**53 + 1, 2.0**53, -(2**63), 2**63 - 1, 7.5, 1e30],
    "x": [0.0, -0.0, 1, 2.5, 2**53 + 1, 1e300],
    "f": [0.5, 1, 3.25],
    "s": ["", "A", "it's", "back\\slash", "Ä", "\U0001f600", "\uffff"],
    "b": [True, False],
    "d": [DAY + timedelta(days=n) for n in range(3)],
    "t": [NOON + timedelta(hours=n, microseconds=n) for n in range(3)],
}
VALUES: dict[str, list[Any]] = {
    "i": [-4, -3, 0, 1, 2, 3, 7, 2**31 - 1, -(2**31)],
    "w": [0, 1, 7, 8, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "x": [0.0, -0.0, 1.0, 2.5, 3.0, float("nan"), float("inf"), 2.0**53, 2.0**53 + 2, 1e300],
    "f": [0.5, 0.0, 1.0, 3.25, float("nan")],
    "s": ["", "A", "B", "it's", "back\\slash", "Ä", "\U0001f600", "\uffff", "zz"],
    "b": [True, False],
    "d": [DAY + timedelta(days=n) for n in range(-1, 4)],
    "t": [NOON + timedelta(hours=n, microseconds=m) for n in range(3) for m in range(3)],
}


def random_condition(rng: random.Random, depth: int = 2) -> Condition:
    """Conjunctions and disjunctions of comparisons and null tests, some on one attribute."""
    if depth == 0 or rng.random() < 0.4:
        attribute = rng.choice(list(CONSTANTS))
        if rng.random() < 0.1:
            return NullTest(attribute, rng.random() < 0.5)
        return Comparison(attribute, rng.choice(OPS), rng.choice(CONSTANTS[attribute]))
    parts = tuple(random_condition(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    return And(parts) if rng.random() < 0.75 else Or(parts)


def random_rows(rng: random.Random, n: int) -> list[dict[str, Any]]:
    """Values on and off the constants, a tenth of them NULL."""
    return [
        {"id": k} | {a: None if rng.random() < 0.1 else rng.choice(v) for a, v in VALUES.items()}
        for k in range(n)
    ]


def batch_of(schema: Schema, rows: Sequence[Row]) -> pa.RecordBatch:
    """The rows as one Arrow batch of the schema's types."""
    columns = {
        a.name: pa.array([row[a.name] for row in rows], ARROW_TYPES[a.type])
        for a in schema.attributes
    }
    return pa.RecordBatch.from_pydict(columns)


def chunks_of(schema: Schema, rows: Sequence[Row], n_chunks: int = 3) -> list[Chunk]:
    """The rows in order, draws in even steps so that every p-th is sampled with probability 1/p."""
    draws = np.linspace(0, 2**32 - 1, len(rows)).astype(np.uint32)
    cuts = np.linspace(0, len(rows), n_chunks + 1).astype(int).tolist()
    batch = batch_of(schema, rows)
    return [Chunk(batch.slice(a, b - a), draws[a:b], np.arange(a, b)) for a, b in pairwise(cuts)]


def run(operator: Operator, chunks: Sequence[Chunk]) -> tuple[dict[int, list[str]], Any]:
    """One task: id -> names of the queries, and what was counted. The operator is pickled first
    where the test asks for it."""
    work = operator.open(0, 0)
    found: dict[int, list[str]] = {}
    for chunk in chunks:
        emitted = work.take(chunk)
        ids = chunk.tuples.column("id").take(pa.array(emitted.rows)).to_pylist()
        found |= dict(zip(ids, emitted.query_ids.to_pylist(), strict=True))
    return found, operator.merged([work.report()])
