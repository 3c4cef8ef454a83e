"""What a run executes: its inputs, queries and settings, as the engine is given them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from backend.engine.pace import StepOf
from backend.engine.run_log import RunLog
from backend.model.conditions import ContinuousQuery, WindowMember
from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators.network.core.job import StreamTime
from backend.systems.contract import System
from backend.systems.registry import SYSTEMS
from backend.workloads.relations import SlidingRelation
from backend.workloads.stored import StoredRelation
from backend.workloads.ticks import ANY_LEAP, DEFAULT_TICK_US
from storage.vocabulary.records import Event, Json


class Branches(Protocol):
    """Has branches of recorded runs computed beside the run, one at a time."""

    def begin(self, run: str, at: int, knob: str, value: object, scope: str) -> None:
        """Begin with one; returns at once. Raises Refused."""

    def news(self) -> Sequence[Event]:
        """What became of them since this was asked last."""


@dataclass(frozen=True, slots=True)
class InputJob:
    """A stream the run reads. timestamp: the attribute that carries its time, or ''. source: facts
    to show. rate: tuples per second it starts with; None: it is not replayed. tick_us, disorder,
    max_leap: as in StreamTime."""

    name: str
    schema: Schema
    timestamp: str = ""
    source: Mapping[str, Json] = field(default_factory=dict)
    rate: float | None = None
    tick_us: int = DEFAULT_TICK_US
    disorder: int = 0
    max_leap: int = ANY_LEAP

    @property
    def time(self) -> StreamTime:
        """How its tuples are put in time."""
        return StreamTime(
            self.timestamp or None, self.tick_us, self.disorder, max_leap=self.max_leap
        )


@dataclass(frozen=True, slots=True)
class RunJob:
    """A workload as the engine runs it.

    knobs: values to start with: name -> value for every scope that has the knob, "scope/name" ->
    value for one. functions: those queries may call; relations: what windows in filters look
    into; stored: relations by name. sink: facts to show. asked: knobs whose values were given for
    this start and come before those a killed run left. progress: told (n, total) as queries are
    registered. systems: who may run them, asked in this order. in_process: the host runs all of a
    batch in this process. branches: has branches of runs computed; None: nobody does. log: what is
    kept of the log with the run; None: nothing. learned: unit -> looks of another run that a new
    unit begins with.
    """

    inputs: Mapping[str, InputJob]
    queries: tuple[ContinuousQuery, ...]
    sink: Mapping[str, Json] = field(default_factory=dict)
    knobs: Mapping[str, object] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    functions: Functions = field(default_factory=Functions)
    relations: Mapping[WindowMember, SlidingRelation] = field(default_factory=dict)
    progress: Callable[[int, int], None] | None = None
    systems: tuple[System, ...] = SYSTEMS
    stored: Mapping[str, StoredRelation] = field(default_factory=dict)
    in_process: bool = False
    branches: Branches | None = None
    log: RunLog | None = None
    learned: Mapping[str, Sequence[Json]] = field(default_factory=dict)

    @property
    def steps(self) -> tuple[StepOf, ...]:
        """What a step of a held run can be."""
        return ("batch", "decision") if self.in_process else ("batch",)

    @property
    def schemas(self) -> dict[str, Schema]:
        """Stream -> schema, as parse_query takes them."""
        return {name: input.schema for name, input in self.inputs.items()}

    @property
    def stored_schemas(self) -> dict[str, Schema]:
        """Stored relation -> schema, as parse_query takes them."""
        return {name: relation.schema for name, relation in self.stored.items()}
