"""Rows of Python values as blocks, and back; batches of a stream with heartbeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64, dtype_of
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.windows import WindowOp
from tests.oracles.network_windows import Row, Signed

Fields = tuple[Attribute, ...]


def fields(*types: str) -> Fields:
    """Attributes a0, a1... of these types."""
    return tuple(Attribute(f"a{place}", type) for place, type in enumerate(types))


def block_of(elements: Sequence[Signed], of: Fields, numbers: Sequence[int] | None = None) -> Block:
    """Elements in columns; None is NULL."""
    columns = []
    for place, field in enumerate(of):
        values = [row[place] for row, _, _ in elements]
        valid = np.array([value is not None for value in values], bool)
        held = np.array([0 if value is None else value for value in values], dtype_of(field.type))
        columns.append(Column64(held, None if valid.all() else valid))
    tau = np.array([tau for _, tau, _ in elements], np.int64)
    sign = np.array([sign for _, _, sign in elements], np.int8)
    seq = None if numbers is None else np.array(numbers, np.int64)
    return Block(tau, sign, tuple(columns), seq)


def elements_of(block: Block) -> list[Signed]:
    """The elements of a block; NULL is None."""
    columns = []
    for column in block.columns:
        values: list[Any] = column.values.tolist()
        valid = column.is_valid.tolist()
        columns.append([v if known else None for v, known in zip(values, valid, strict=True)])
    rows: list[Row] = list(zip(*columns, strict=True)) if columns else [()] * len(block)
    assert (np.diff(block.tau) >= 0).all()
    return list(zip(rows, block.tau.tolist(), block.sign.tolist(), strict=True))


def stream(id: str = "s", of: Fields = ()) -> PlannedOperator:
    """An operator that reads the stream S."""
    return PlannedOperator(id, StreamInput("S", tuple(range(len(of)))), (), of, fifo=True)


def window(work: WindowOp, over: PlannedOperator, id: str = "w") -> PlannedOperator:
    """A window over an operator."""
    return PlannedOperator(id, work, (over.id,), over.fields, fifo=work.kind != "partition")


def plan_of(*operators: PlannedOperator, sharing: bool = False) -> NetworkPlan:
    """A plan of these operators."""
    return NetworkPlan(operators, sharing=sharing)


#: Ticks between two arrivals: mostly ties and neighbours, now and then a jump over all windows.
GAPS = st.sampled_from([0, 0, 0, 1, 1, 2, 5, 40])
