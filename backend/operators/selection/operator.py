"""The operator of selection plans: look up, match, count, draw.

numba is imported when a task begins.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from backend.operators.contract import Chunk, Emitted, Work
from backend.operators.selection.counts import SelectionCounts
from backend.operators.selection.tickets import FIRST_TICKETS, ticket_seed
from backend.operators.selection.worker import ShippedPlan, look_up, packed_sample, sample_of


@dataclass(frozen=True, slots=True)
class SelectionOperator:
    """One selection plan. profile_prob: share of tuples to sample, [0, 1]."""

    plan: ShippedPlan
    profile_prob: float

    @property
    def selects(self) -> bool:
        """There are queries."""
        return bool(self.plan.names.sorted)

    def open(self, batch_id: int, partition: int) -> Work:
        """Begin a task: its lottery, if the plan is one, starts anew."""
        return _Selecting(self, batch_id, partition)

    def merged(self, reports: Sequence[bytes]) -> SelectionCounts:
        """The counts of all tasks, and their samples one after the other."""
        order = [attribute for attribute, _ in self.plan.order]
        totals = np.zeros((2, len(order)), dtype=np.int64)
        samples: list[bytes] = []
        for data in reports:
            counts, sample = pickle.loads(data)
            totals += np.frombuffer(counts, dtype=np.int64).reshape(totals.shape)
            samples += [] if sample is None else [sample]
        reached, dropped = (dict(zip(order, row.tolist(), strict=True)) for row in totals)
        drops = self.plan.kind != "no early drop"
        return SelectionCounts(reached, dropped if drops else {}, sample_of(samples, order))


class _Selecting:
    """A plan at work on one task's part of a batch."""

    def __init__(self, operator: SelectionOperator, batch_id: int, partition: int) -> None:
        self._plan, self._profile_prob = operator.plan, operator.profile_prob
        from backend.operators.selection.lookup import hit_regions
        from backend.operators.selection.matcher import Matcher

        seed = ticket_seed(self._plan.version, batch_id, partition)
        plan, self._hit_regions = self._plan, hit_regions
        self._matcher = Matcher(plan.layout, plan.kind, plan.resolved, FIRST_TICKETS, seed)
        self._sample: list[pa.RecordBatch] = []

    def take(self, chunk: Chunk) -> Emitted:
        """The tuples that satisfy a query."""
        plan, tuples = self._plan, chunk.tuples
        regions = np.empty((len(plan.order), len(tuples)), dtype=np.int32)
        for place, (attribute, type_name) in enumerate(plan.order):
            column, search = tuples.column(attribute), plan.searches[place]
            look_up(column, type_name, search, regions[place], self._hit_regions)
        matches = self._matcher.match(regions)
        rows, starts, ranks = plan.names.of_matches(matches.tuples, matches.slots)
        names = pa.DictionaryArray.from_arrays(pa.array(ranks, pa.int32()), plan.name_array)
        self._profile(chunk)
        return Emitted(rows, pa.ListArray.from_arrays(pa.array(starts, pa.int32()), names), {})

    def _profile(self, chunk: Chunk) -> None:
        drawn = np.flatnonzero(chunk.sampled(self._profile_prob))
        if len(drawn):
            read = chunk.tuples.select([attribute for attribute, _ in self._plan.order])
            self._sample.append(read.take(pa.array(drawn)))

    def report(self) -> bytes:
        """Counts by place in the order, and the sample."""
        counts = self._matcher.counts
        totals = np.stack([counts.reached, counts.dropped]).tobytes()
        return pickle.dumps((totals, packed_sample(self._sample) if self._sample else None))
