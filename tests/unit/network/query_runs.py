"""Plans of queries run batch by batch in shards, operators made anew in each batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from backend.cql.nodes import At
from backend.model.functions import Functions
from backend.model.schema import Attribute, Schema
from backend.operators.network.core.blocks import Block
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.job import NetworkJob, Schedule, StreamTime
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import Tuning, as_tuned
from backend.operators.network.kinds.inputs import RelationInput, StreamInput
from backend.operators.network.relational.netting import net
from backend.operators.network.shards.keyed import shards_of
from backend.operators.network.shards.making import make
from backend.workloads.text_values import ARROW_TYPES
from tests.oracles.cql_semantics import Elements, Row
from tests.unit.network.collecting import CollectingNetwork
from tests.unit.network.expression_trees import HERE, column_of, python_of

Answer = Counter[tuple[Row, int, int]]


def run_plan(
    plan: NetworkPlan,
    inputs: Mapping[str, Elements],
    schemas: Mapping[str, Schema],
    heartbeats: Sequence[int],
    n_shards: int = 1,
    schedule: Schedule | None = None,
    functions: Functions | None = None,
    tunings: Sequence[Mapping[str, Tuning]] = (),
) -> dict[str, Answer]:
    """Query -> its elements (row, τ, sign), of all shards. heartbeats: where batches end; tunings:
    of the joins in each batch."""
    found: dict[str, Answer] = {query: Counter() for query in plan.answers}
    ordered = {name: sorted(rows, key=lambda one: one[1]) for name, rows in inputs.items()}
    for shard in range(n_shards):
        own = ShardRun(plan, ordered, schemas, shard, n_shards, schedule, functions)
        for query, answer in own.run(heartbeats, tunings).items():
            found[query].update(answer)
    return found


class ShardRun:
    """One shard. inputs: in order of time."""

    def __init__(
        self,
        plan: NetworkPlan,
        inputs: Mapping[str, Elements],
        schemas: Mapping[str, Schema],
        shard: int,
        n_shards: int,
        schedule: Schedule | None,
        functions: Functions | None,
    ) -> None:
        self._plan, self._inputs, self._schemas = plan, inputs, schemas
        self._shard, self._n_shards = shard, n_shards
        self._functions = functions or Functions()
        self._regions = MemoryRegions()
        self._keys = {id: place for group in plan.groups for id, place in group.keys.items()}
        self._members = {
            id for group in plan.groups if group.keys or not shard for id in group.operators
        }
        streams = dict.fromkeys(
            one.work.stream for one in plan.operators if isinstance(one.work, StreamInput)
        )
        self._job = NetworkJob(
            plan,
            schemas,
            {name: StreamTime(None) for name in streams},
            schedule=schedule or Schedule(),
        )

    def run(
        self, heartbeats: Sequence[int], tunings: Sequence[Mapping[str, Tuning]] = ()
    ) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        begin = 0
        for k, heartbeat in enumerate(heartbeats):
            tuned = tunings[k] if tunings else {}
            for query, elements in self._batch(begin, heartbeat, tuned).items():
                found.setdefault(query, Counter()).update(elements)
            begin = heartbeat
        return found

    def _batch(self, begin: int, heartbeat: int, tuned: Mapping[str, Tuning]) -> dict[str, Answer]:
        plan = as_tuned(self._plan, tuned)
        strings = Strings(self._regions.scope("strings"))
        arrived = {}
        for name in self._job.streams:
            times = [time for _, time in self._inputs[name]]
            first, end = np.searchsorted(times, [begin, heartbeat]).tolist()
            arrived[name] = (first, np.array(times[first:end], np.int64))
        reads = [one for one in self._plan.operators if one.id in self._members and not one.inputs]
        blocks = {one.id: self._read(one.id, one.work, arrived, strings) for one in reads}
        relations = {one.id: blocks.pop(one.id) for one in reads if _is_stored(one.work)}
        surroundings = Surroundings(
            plan,
            self._regions.scope("operators"),
            strings,
            Clock(begin, arrived),
            relations,
            self._functions,
            tuned,
        )
        operators = {
            one.id: make(one, surroundings)
            for one in plan.operators
            if one.inputs and one.id in self._members
        }
        network = CollectingNetwork(self._job, self._members, operators, surroundings)
        answers, _ = network.played(blocks, heartbeat)
        return {query: self._told(query, block, strings) for query, block in answers.items()}

    def _read(self, id: str, work: Any, arrived: Mapping[str, Any], strings: Strings) -> Block:
        """What an input takes in, in this shard."""
        name = work.relation if _is_stored(work) else work.stream
        first, times = arrived.get(name, (0, np.zeros(len(self._inputs[name]), np.int64)))
        rows = [row for row, _ in self._inputs[name][first : first + len(times)]]
        fields = [self._schemas[name].attributes[place] for place in work.columns]
        seq = first + np.arange(len(rows))
        taken = np.arange(len(rows))
        if id in self._keys:
            place = work.columns[self._keys[id]]
            kind = ARROW_TYPES[self._schemas[name].attributes[place].type]
            key = pa.array([row[place] for row in rows], kind)
            taken = np.flatnonzero(shards_of(key, self._n_shards) == self._shard)
        columns = tuple(
            column_of([rows[k][place] for k in taken], field.type, strings)
            for place, field in zip(work.columns, fields, strict=True)
        )
        return Block(times[taken], np.ones(len(taken), np.int8), columns, seq[taken])

    def _told(self, query: str, block: Block, strings: Strings) -> Answer:
        fields: Sequence[Attribute] = self._plan.operator(self._plan.answers[query].operator).fields
        block = net(block, fields, strings)
        assert (np.diff(block.tau) >= 0).all()
        columns = [
            python_of(column, At(HERE, 0, field.type), strings)
            for column, field in zip(block.columns, fields, strict=True)
        ]
        signs = zip(block.tau.tolist(), block.sign.tolist(), strict=True)
        rows = zip(*columns, strict=True) if columns else iter([()] * len(block))
        return Counter((row, *stamp) for row, stamp in zip(rows, signs, strict=True))


def _is_stored(work: Any) -> bool:
    return isinstance(work, RelationInput)
