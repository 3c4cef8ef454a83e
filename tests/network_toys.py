"""A small operator with state for shards: running sums, and a plan around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from backend.model.schema import Attribute, Schema
from backend.operators.network.core.blocks import Block, Column64
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.inputs import StreamInput

SCHEMA = Schema.parse("at bigint, key string, value bigint")
KEY, VALUE = Attribute("key", "string"), Attribute("value", "bigint")
FIELDS = (KEY, Attribute("total", "bigint"), Attribute("arrived", "bigint"))


@dataclass
class RunningSums:
    """For each tuple the sum of its key so far, and how many tuples had come in all shards."""

    planned: PlannedOperator
    surroundings: Surroundings

    def __post_init__(self) -> None:
        self._regions = self.surroundings.regions.scope(self.planned.id)
        self._known = self._regions.array("known", "int64", 1)
        self._keys = self._regions.array("keys", "int64", 2)
        self._sums = self._regions.array("sums", "int64", 2)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        (block,) = inputs
        totals = np.array([self._add(*row) for row in self._rows(block)], np.int64)
        name = self.planned.inputs[0].split(" ")[0]
        first, tau = self.surroundings.clock.arrived[name]
        arrived = first + np.searchsorted(tau, block.tau, side="right")
        return block.having([block.columns[0], Column64(totals), Column64(arrived)])

    def _rows(self, block: Block) -> list[tuple[int, int]]:
        keys, values = block.columns
        codes = np.where(keys.is_valid, keys.values, -1)
        return list(zip(codes.tolist(), values.values.tolist(), strict=True))

    def _add(self, key: int, value: int) -> int:
        n = int(self._known[0])
        places = np.flatnonzero(self._keys[:n] == key)
        if not len(places):
            if n == len(self._keys):
                self._keys = self._regions.resized("keys", 2 * n)
                self._sums = self._regions.resized("sums", 2 * n)
            self._keys[n] = key
            self._known[0] = n + 1
            places = np.array([n])
        self._sums[places[0]] += value
        return int(self._sums[places[0]])

    @property
    def n_tuples(self) -> int:
        return int(self._known[0])

    @property
    def n_bytes(self) -> int:
        return 16 * self.n_tuples

    def counters(self) -> Mapping[str, float]:
        return {"groups": float(self.n_tuples)}


def make(planned: PlannedOperator, surroundings: Surroundings) -> RunningSums:
    """Every operator of these plans is one."""
    return RunningSums(planned, surroundings)


def sums_of(stream: str, keyed: bool) -> tuple[tuple[PlannedOperator, ...], ShardGroup]:
    """Running sums of a stream, in shards by key or in one."""
    id, input = f"sums {stream} {keyed}", f"{stream} {keyed}"
    calls = (AggregateCall("sum", 1, False, "bigint"),)
    operators = (
        PlannedOperator(input, StreamInput(stream, (1, 2)), (), (KEY, VALUE)),
        PlannedOperator(id, AggregateOp((0,), calls), (input,), FIELDS),
    )
    return operators, ShardGroup((input, id), {input: 0} if keyed else {}, "as asked")


def sums_job(*queries: tuple[str, bool], n_shards: int = 1, disorder: int = 2) -> NetworkJob:
    """Queries "STREAM" or "STREAM alone": running sums of a stream, keyed or in one shard."""
    made = [sums_of(stream, keyed) for stream, keyed in queries]
    answers = {
        stream if keyed else f"{stream} alone": PlannedAnswer(f"sums {stream} {keyed}", True)
        for stream, keyed in queries
    }
    operators = tuple(one for found, _ in made for one in found)
    plan = NetworkPlan(operators, answers, tuple(group for _, group in made))
    streams = {stream: StreamTime("at", disorder=disorder) for stream, _ in queries}
    return NetworkJob(plan, dict.fromkeys(streams, SCHEMA), streams, n_shards=n_shards)
