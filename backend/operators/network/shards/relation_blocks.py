"""Stored relations of a job, as elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from backend.operators.network.core.blocks import Block
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.strings import Strings
from backend.operators.network.expressions.arrow import columns64
from backend.operators.network.kinds.inputs import RelationInput
from backend.operators.network.shards.keyed import shards_of


class RelationBlocks(Mapping[str, Block]):
    """Stored relations as their inputs take them in, in this shard; made when they are read."""

    def __init__(
        self, job: NetworkJob, shard: int, strings: Strings, key_of: Mapping[str, int]
    ) -> None:
        self._job, self._shard, self._strings, self._key_of = job, shard, strings, key_of
        self._own = {
            operator.id: (operator, work) for operator, work in job.plan.working(RelationInput)
        }

    def __getitem__(self, id: str) -> Block:
        operator, work = self._own[id]
        table = self._job.relations[work.relation].select(list(work.columns))
        if id in self._key_of:
            key = table.column(self._key_of[id])
            table = table.filter(shards_of(key, self._job.n_shards) == self._shard)
        n = table.num_rows
        columns = columns64(table, operator.fields, self._strings)
        return Block(np.zeros(n, np.int64), np.ones(n, np.int8), columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)
