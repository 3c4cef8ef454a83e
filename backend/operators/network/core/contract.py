"""What the operators of a network are to it.

Time goes on by heartbeats: "no later element has a timestamp below it" (card A7). In a batch the
network takes all elements with timestamps from the last heartbeat up to, not including, the new
one; then everything that can be said of those ticks has been said, and is the same however the
elements were cut into blocks, scheduled or spread over shards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from backend.model.functions import Functions
from backend.operators.network.core.blocks import Block, Ints
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.reports import Tapped
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import Profile, Tuning
from backend.operators.network.core.work import PlannedOperator

TuningT = TypeVar("TuningT")
#: Told of each scheduling decision: the operator that ran, and what each queue holds then.
Watch: TypeAlias = Callable[[str, Mapping[str, int]], None]


@dataclass
class Clock:
    """What a batch says of the time of some operators. begin: its first tick, where those that are
    new begin; of the first batch the first tick there is. arrived: stream -> the number of the
    first tuple of the batch in it, and the timestamps of all its tuples in all shards: windows
    [Rows n] count those of other shards, too. over: streams that have no more tuples."""

    begin: int = 0
    arrived: dict[str, tuple[int, Ints]] = field(default_factory=dict)
    over: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What operators of a shard share. regions: of the shard, with a scope for each operator, named
    by its id. relations: id of a RelationInput -> its tuples in this shard, with its columns.
    functions: those that expressions call. tunings: operator id -> how it is executed, limits
    included; the plan is as these have it."""

    plan: NetworkPlan
    regions: Regions
    strings: Strings
    clock: Clock
    relations: Mapping[str, Block] = field(default_factory=dict)
    functions: Functions = field(default_factory=Functions)
    tunings: Mapping[str, Tuning] = field(default_factory=dict)

    def tuning(self, planned: PlannedOperator, kind: type[TuningT]) -> TuningT | None:
        """How an operator is executed; None: as planned. Raises TypeError for a tuning that is of
        another kind of operator."""
        tuning = self.tunings.get(planned.id)
        if tuning is not None and not isinstance(tuning, kind):
            what = f"{type(planned.work).__name__} {planned.id!r}"
            raise TypeError(f"{what} takes {kind.__name__}, not {type(tuning).__name__}")
        return tuning


class AnswerTaker(Protocol):
    """What the elements of an answer are given to."""

    def take(self, block: Block, heartbeat: int) -> None:
        """The next elements, in nondecreasing τ; those after them have no smaller τ than the
        heartbeat."""


class ElementTap(AnswerTaker, Protocol):
    """Looks at all elements of an operator."""

    def told(self) -> Tapped:
        """Some of those that it was given."""


class NetworkOperator(Protocol):
    """An operator at work in a shard; made anew by ``maker(planned, surroundings)`` whenever the
    shard is attached, with what its regions hold."""

    @property
    def planned(self) -> PlannedOperator:
        """What it is in the plan."""

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        """Take the next elements of each input, all with τ <= heartbeat, and tell what they come
        to, in nondecreasing τ. heartbeat: no later element of any input has a smaller τ; all that
        is to say of ticks before it is said with this call, and later calls say nothing of them.

        Inputs may be empty. Elements of different inputs are in no order but that of τ.
        """

    @property
    def n_tuples(self) -> int:
        """Tuples in its synopses; 0 for operators without state."""

    @property
    def n_bytes(self) -> int:
        """Bytes in use by those, shared ones with the first of their operators."""

    def counters(self) -> Mapping[str, float]:
        """What it counted since it was made, by property: probes, matches..."""


@runtime_checkable
class ProfiledOperator(Protocol):
    """An operator that tells more than counters."""

    def profile(self) -> Profile | None:
        """What it saw since it was made; None: it was not asked to look."""


@runtime_checkable
class KeepingOperator(Protocol):
    """An operator whose regions are its state at the end of batches alone."""

    def keep(self) -> None:
        """A batch is over: leave in the regions what the next one goes on with."""
