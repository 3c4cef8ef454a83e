"""The contract between the engine and whatever executes batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from backend.model.events import SelectionPlan
from backend.model.filters import CostSample, Filter, FilterPlan, Outcomes, Probing
from backend.systems.asc.constructs import ConstructSet


@dataclass(frozen=True, slots=True)
class PlanSnapshot:
    """What one batch runs: fixed at its boundary, whatever is turned meanwhile.

    profile_prob: share of tuples to profile, [0, 1]. stop_rule: 'resolved' or 'drop'. executor:
    'kernels', or 'expressions' where the plan is small enough for them.
    """

    batch_id: int
    constructs: ConstructSet
    plan: SelectionPlan
    stop_rule: str
    profile_prob: float
    executor: str


@dataclass(frozen=True, slots=True)
class Match:
    """A matched tuple: its attributes by name, and the names of the queries, sorted."""

    values: Mapping[str, Any]
    query_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptAside:
    """A tuple that does not fit its schema: its text, and what is wrong."""

    raw: str
    error: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch did. Counts are exact; tuples that do not fit are in n_misfits only.

    visits: constructs visited, summed. reached / dropped: attribute -> tuples that visited it, and
    that it dropped (dropped is empty under a plan that does not drop early).
    sample: attribute -> values of the profiled tuples. matched_by_query: name -> tuples.
    recent: some of the matched tuples; misfits: the first of the tuples kept aside.
    timings_ms: parts of duration_ms. backlog_tuples: waiting at the source; None = unknown.
    """

    batch_id: int
    n_tuples: int
    n_matched: int
    n_misfits: int
    visits: int
    reached: Mapping[str, int]
    dropped: Mapping[str, int]
    sample: Mapping[str, Sequence[Any]]
    matched_by_query: Mapping[str, int]
    recent: tuple[Match, ...] = ()
    misfits: tuple[KeptAside, ...] = ()
    stream_time: str = ""
    duration_ms: float = 0.0
    backlog_tuples: int | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilterSnapshot:
    """What one batch of pipelined filters runs. query: its name, None when no query is active and
    nothing is emitted. filters: in any order; plan.order names each of them.
    """

    batch_id: int
    query: str | None
    filters: tuple[Filter, ...]
    plan: FilterPlan
    probing: Probing
    profile_prob: float


@dataclass(frozen=True, slots=True)
class FilterBatchResult(BatchResult):
    """What a batch of pipelined filters did; ``reached`` are evaluations, ``visits`` their sum.

    Tuples a filter raised an exception for, and no other dropped, are in n_misfits. n_evaluated:
    tuples the first filter was asked about. outcomes, n_passed: the profile, columns in plan
    order. costs: filter -> timings. raised: filter -> exceptions. tuples_us, profile_us: time
    spent on filters in regular execution, and on profile tuples.
    """

    n_evaluated: int = 0
    outcomes: Outcomes = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int8))
    n_passed: int = 0
    costs: Mapping[str, Sequence[CostSample]] = field(default_factory=dict)
    raised: Mapping[str, int] = field(default_factory=dict)
    tuples_us: float = 0.0
    profile_us: float = 0.0

    @property
    def n_profiled(self) -> int:
        """Profile tuples, dropped and passed."""
        return len(self.outcomes) + self.n_passed
