"""What flows into the pure decision core of selections (events) and out of it (instructions).

Decisions and their outcomes come out as the store records them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings
from storage.vocabulary.records import Decision, DecisionOutcome, Event

PlanKind: TypeAlias = Literal["early drop", "no early drop", "hybrid", "ticket"]


@dataclass(frozen=True, slots=True)
class MicroArrow:
    """After ``region`` of ASC(``attribute``) was hit, ASC(``target``) is visited next. [L12] §4.3

    region: row of the construct's qrb. support: sampled tuples it was decided on. gain: by how
    much its metric (selectivity or tuple dropping ratio) beats the macro-arrow's, >= 0; on the
    same tuples, unless the two were compared globally.
    """

    attribute: str
    region: int
    target: str
    support: int
    gain: float


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """The plan in force for a set of selection queries: how each tuple visits the constructs.

    order: every p-attribute once. kind: 'early drop' visits in order and stops by the stop rule;
    'no early drop' visits all of them branch-free; 'hybrid' follows ``arrows`` where they lead to
    an unvisited construct and the order otherwise; 'ticket' draws each next construct by lottery.
    """

    version: int
    kind: PlanKind
    order: tuple[str, ...]
    arrows: tuple[MicroArrow, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchExecuted:
    """A batch was run under plan ``plan_version``; exact counts and the seeded profile sample.

    visits: constructs visited, summed over tuples, under the early-drop stop rule (what the plan
    really did: n per tuple when it does not drop early). n_matched: tuples satisfying >= 1 query.
    reached: attribute -> tuples that visited its construct; None when not counted.
    sample: attribute -> raw values (None = NULL) of the profiled tuples, equal lengths.
    visit_costs: attribute -> measured time of one visit, in any unit > 0; empty = not measured.
    """

    batch_id: int
    n_tuples: int
    n_matched: int
    visits: int
    plan_version: int
    reached: Mapping[str, int]
    sample: Mapping[str, Sequence[Any]]
    visit_costs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnobsChanged:
    """Other knob values are in force from ``batch_id`` on."""

    settings: KnobSettings
    batch_id: int


@dataclass(frozen=True, slots=True)
class QueriesChanged:
    """The set of active queries from ``batch_id`` on; reason: 'query q9 registered', say."""

    queries: tuple[ContinuousQuery, ...]
    batch_id: int
    reason: str


SelectionEvent: TypeAlias = BatchExecuted | KnobsChanged | QueriesChanged


@dataclass(frozen=True, slots=True)
class AdoptPlan:
    """Run ``plan`` from ``batch_id`` on. predicted: expected visits per tuple, None if unknown."""

    plan: SelectionPlan
    batch_id: int
    reason: str
    decision: int | None = None
    predicted: float | None = None


Instruction: TypeAlias = AdoptPlan | Decision | DecisionOutcome | Event
