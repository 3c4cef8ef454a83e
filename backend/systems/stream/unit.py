"""STREAM as a unit: all queries of a run that do more than select, as one network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from backend.adaptive.words import REFILLED
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.knobs import KnobSettings
from backend.operators.contract import UnitResult
from backend.operators.network.job import NetworkJob, Policy, Schedule, queue_id
from backend.operators.network.plan import NetworkPlan, RelationInput, StreamInput
from backend.operators.network.reports import NetworkReport
from backend.systems.contract import BatchRan, Recorded, Refused, UnitJob, UnitState
from backend.systems.publishing import PublishedUnit, query_entity
from backend.systems.stream.chaining import BY_CHAINS, Chaining, ChainWatch
from backend.systems.stream.chains import slopes_of, steps_of
from backend.systems.stream.knobs import StreamKnobs
from backend.systems.stream.layout import Layout
from backend.systems.stream.measured import NetworkProfile
from backend.systems.stream.published import (
    curve_matrix,
    mean_waiting,
    progress_matrix,
    samples,
)
from storage.vocabulary.records import Decision, Entity, Json, Matrix, PlanVersion, Sample

#: A schedule counts with other costs when they have changed by this share.
COSTS_CHANGED = 0.25


class AdoptNetwork(NamedTuple):
    """Run the network of the unit as it is now from a batch on."""

    version: int
    batch_id: int
    reason: str
    decision: int | None = None
    predicted: float | None = None


@dataclass(frozen=True, slots=True)
class RegisteredQuery:
    """A query that runs. since: the batch it was registered at; its windows were empty then."""

    query: ContinuousQuery
    since: int
