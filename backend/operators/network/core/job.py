"""What a host runs for a unit whose operators keep state: a network, in shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Literal, TypeAlias

import pyarrow as pa

from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.tuning import Limit, Tuning
from backend.workloads.ticks import ANY_LEAP

Policy: TypeAlias = Literal["fifo", "round_robin", "greedy", "chain"]


@dataclass(frozen=True, slots=True)
class StreamTime:
    """How the tuples of a stream are put in time. timestamp: the attribute with their time, None:
    τ is their number. tick_us: microseconds of a tick where that is a time (an integer counts
    ticks). disorder: no tuple is more than so many ticks older than one before; older ones are late
    and kept aside. n_tuples: of a stream that may begin anew at its end, whose time goes on.
    max_leap: no tuple is more than so many ticks ahead of all before it; others are kept aside."""

    timestamp: str | None
    tick_us: int = 1_000_000
    disorder: int = 0
    n_tuples: int | None = None
    max_leap: int = ANY_LEAP


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which operator runs next, in a batch. chains: operator id -> (slope, chain number) for
    'greedy' and 'chain', as last measured. costs: operator id -> what an element takes it, in any
    unit (absent: 1); work: what a tuple that comes in costs in all, in that unit; 0: unknown, then
    queues are emptied at every instant. capacity: queue (see ``queue_id``) -> the most elements
    it may hold before its producer waits; absent: without limit. load: the share of the processor's
    time that the arrivals of a batch take, > 1 lets queues grow."""

    policy: Policy = "fifo"
    slopes: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    work: float = 0.0
    capacity: Mapping[str, int] = field(default_factory=dict)
    load: float = 0.9
    block_tuples: int = 32_768

    def __post_init__(self) -> None:
        """Raises ValueError for a number nobody can schedule by: one that is not finite."""
        numbers = {"work": self.work, "load": self.load}
        numbers |= {f"the slope of {id}": slope for id, (slope, _) in self.slopes.items()}
        numbers |= {f"the cost of {id}": cost for id, cost in self.costs.items()}
        wrong = {what: number for what, number in numbers.items() if not isfinite(number)}
        if wrong:
            raise ValueError(f"a schedule needs finite numbers, not {wrong}")


@dataclass(frozen=True, slots=True)
class NetworkJob:
    """A unit's network for one batch; can be pickled. streams: how each input's tuples are put in
    time; schemas: of inputs. relations: stored relations by name, all their columns. functions:
    those that queries may call. tunings: operator id -> how it is executed; absent: as planned.
    Neither ``schedule`` nor ``tunings`` touches what comes out; ``limits`` do, of other operators:
    they are kept with the job, and replayed as they were."""

    plan: NetworkPlan
    schemas: Mapping[str, Schema]
    streams: Mapping[str, StreamTime]
    relations: Mapping[str, pa.Table] = field(default_factory=dict)
    functions: Functions = field(default_factory=Functions)
    schedule: Schedule = Schedule()
    n_shards: int = 1
    tunings: Mapping[str, Tuning] = field(default_factory=dict)
    limits: Mapping[str, Tuning] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises ValueError for a limit among the tunings, which nobody would keep, or for a tuning
        among the limits."""
        wrong = [id for id, tuning in self.tunings.items() if isinstance(tuning, Limit)]
        wrong += [id for id, limit in self.limits.items() if not isinstance(limit, Limit)]
        if wrong:
            raise ValueError(f"limits and tunings of {', '.join(wrong)} took each other's place")

    def executed(self, decided: Mapping[str, Tuning]) -> NetworkJob:
        """The job with what was decided of some of its operators, limits among it."""
        limits = {id: how for id, how in decided.items() if isinstance(how, Limit)}
        tunings = {id: how for id, how in decided.items() if id not in limits}
        return replace(self, tunings={**self.tunings, **tunings}, limits={**self.limits, **limits})

    @property
    def decided(self) -> Mapping[str, Tuning]:
        """How operators are executed: tunings and limits."""
        return {**self.tunings, **self.limits}

    @property
    def lasting(self) -> NetworkJob:
        """What decides what comes out, and is kept to bring back state."""
        return replace(self, schedule=Schedule(), tunings={})

    @property
    def inputs(self) -> tuple[str, ...]:
        """The streams it reads."""
        return tuple(self.streams)


def queue_id(producer: str, consumer: str, port: int) -> str:
    """The queue from an operator to an input of another; producer '' where tuples come in, consumer
    '' where answers go out."""
    return f"{producer}>{consumer}.{port}"
