"""What all operators here have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64, Ints, concat, dtype_of
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.work import PlannedOperator


class OperatorFrame:
    """An operator's place in the plan; one without synopses."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        self._planned = planned
        self._surroundings = surroundings
        self._regions = surroundings.regions.scope(planned.id)

    @property
    def planned(self) -> PlannedOperator:
        """What it is in the plan."""
        return self._planned

    @property
    def fields(self) -> tuple[Attribute, ...]:
        """Its columns."""
        return self._planned.fields

    def input_fields(self, port: int) -> tuple[Attribute, ...]:
        """The columns of an input."""
        return self._surroundings.plan.operator(self._planned.inputs[port]).fields

    @property
    def n_tuples(self) -> int:
        return 0

    @property
    def n_bytes(self) -> int:
        return 0

    def counters(self) -> Mapping[str, float]:
        return {}


def dtypes_of(fields: Sequence[Attribute]) -> tuple[np.dtype[Any], ...]:
    """How the values of each column are held."""
    return tuple(dtype_of(field.type) for field in fields)


def typed(block: Block, fields: Sequence[Attribute]) -> Block:
    """The elements with columns held as ``fields`` say: integers where floats are wanted."""
    return block.having(
        [
            Column64(column.values.astype(dtype_of(field.type), copy=False), column.valid)
            for column, field in zip(block.columns, fields, strict=True)
        ]
    )


def by_time(*taus: Ints) -> Ints:
    """int64[n]: the places of several nondecreasing lists, put one after the other, in τ."""
    return np.argsort(np.concatenate(taus), kind="stable")


def merged(blocks: Sequence[Block]) -> Block:
    """The elements of several blocks in nondecreasing τ."""
    filled = [block for block in blocks if len(block)] or blocks[:1]
    if len(filled) == 1:
        return filled[0]
    return concat(filled).take(by_time(*(block.tau for block in filled)))
