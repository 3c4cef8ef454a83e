"""How a join under k-constraints is to be executed, and what it tells of that ([B05] chapter 6).

Words between executor and decisions. Inputs are counted from 0; k is a number of arrivals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.tuning import Limit
from backend.operators.network.core.work import OperatorWork
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kmon.kept import KeptTuple

#: Referential integrity on a join; clustered or ordered arrival of a join attribute of a parent;
#: ordered arrival of one of a child.
ConstraintType: TypeAlias = Literal["RIDS", "CA", "OAP", "OAC"]
CONSTRAINT_TYPES: Final[tuple[ConstraintType, ...]] = ("RIDS", "CA", "OAP", "OAC")
Estimator: TypeAlias = Literal["censored", "literal"]
Loss: TypeAlias = Literal["never", "budget"]
#: k of a constraint that is not used: nothing is known of it.
UNKNOWN_K: Final = -1
#: Distances are told by bins: so many first ones each its own, then so many to an octave; in all.
BINS_ALONE, BINS_OF_OCTAVE, DISTANCE_BINS = 16, 8, 160
#: Distances and changes of k of a batch that are told one by one, at most.
MOST_TOLD: Final = 128


def bin_end(bin: int) -> int:
    """The largest distance in a bin."""
    if bin < BINS_ALONE:
        return bin
    octave = (bin - BINS_ALONE) // BINS_OF_OCTAVE
    return ((BINS_OF_OCTAVE + (bin - BINS_ALONE) % BINS_OF_OCTAVE + 1) << (octave + 1)) - 1


class ConstraintId(NamedTuple):
    """A candidate of a join. RIDS: each tuple of ``parent`` waits for one of ``child`` (on a
    one-one join also the other way round); CA, OAP: ``place`` is a column of ``parent``, OAC: of
    ``child``. What does not apply is -1."""

    type: ConstraintType
    parent: int = -1
    child: int = -1
    place: int = -1


def constraint_ids(work: KMonOp) -> tuple[ConstraintId, ...]:
    """All constraints that may be known of a join, whatever the types of its attributes: on each
    join, and on a one-one join the other way round, RIDS; of its attributes CA, OAP, OAC. Where
    tuples are taken away and replaced, RIDS alone: parents that came long ago join the new one."""
    ids: dict[ConstraintId, None] = {}
    for edge in work.edges:
        ids[ConstraintId("RIDS", edge.parent, edge.child)] = None
        if edge.one_one:
            ids[ConstraintId("RIDS", edge.child, edge.parent)] = None
    for edge in () if work.changes else work.edges:
        for above, below in edge.on:
            ids[ConstraintId("CA", edge.parent, place=above)] = None
            ids[ConstraintId("OAP", edge.parent, place=above)] = None
            ids[ConstraintId("OAC", child=edge.child, place=below)] = None
    return tuple(ids)


@dataclass(frozen=True, slots=True)
class ConstraintTuning:
    """One constraint. is_used: tuples may be let go by it, once k is known. declared: its k, -1:
    estimated. is_watched: its distances are observed."""

    id: ConstraintId
    is_used: bool = True
    is_watched: bool = True
    declared: int = UNKNOWN_K


@dataclass(frozen=True, slots=True)
class KMonTuning(Limit):
    """How one join under k-constraints is executed. A limit also with loss = never: what is learnt
    then says what is lost once there is a budget.

    constraints: those that are used or watched. loss: 'never', what is let go lies aside and comes
    back when k was wrong, so that results are exact; 'budget': it is gone. loss_budget: share of
    results that may be lost. factor, slack: k_e = max(floor(factor * k), k + slack) is the largest
    distance surely noticed. sample_prob: share of tuples that are kept beyond k_e to be observed.
    window: observations an estimate is of, W. threshold: a larger k is not used, -1: any.
    gc_arrivals: arrivals from one collection of garbage to the next, 0: as the state's size says.
    keeps_no: No of non-roots is stored
    where no constraint makes it needless.
    """

    constraints: tuple[ConstraintTuning, ...] = ()
    loss: Loss = "never"
    loss_budget: float = 0.001
    factor: float = 1.2
    slack: int = 8
    sample_prob: float = 0.01
    window: int = 1000
    threshold: int = UNKNOWN_K
    estimator: Estimator = "censored"
    gc_arrivals: int = 0
    keeps_no: bool = True
    seed: int = 0

    def planned(self, work: OperatorWork) -> KMonOp:
        """The join as it is. Raises TypeError: the operator is no join under k-constraints."""
        if not isinstance(work, KMonOp):
            raise TypeError(f"{type(work).__name__} is no join under k-constraints")
        return work


class KChange(NamedTuple):
    """k of a constraint became another. arrival: of the join, counted over all inputs; tau: its
    time; before, after: -1: none. distance: what was observed then; n: observations since the last
    change of this kind."""

    arrival: int
    tau: int
    before: int
    after: int
    distance: int
    n: int


class SeenDistance(NamedTuple):
    """A distance that was observed, at a time."""

    tau: int
    distance: int


@dataclass(frozen=True, slots=True)
class ConstraintProfile:
    """A constraint in a batch. k: in use at its end, -1: none. kept: largest distance surely
    noticed, -1: any. estimate, low, high: what the record of distances says k is, with a 95 %
    interval of that quantile; -1: not known. n_observed: informative distances; of these largest;
    n_violations: above k in use. n_window: observations the estimate is of. bins: of distances
    (``distance_bin``). n_evicted: tuples let go by it; saved_tuples: of all let go by it those that
    would still be there. n_lost: results that tuples let go would have been in, as a
    partner came (budget), an upper estimate (``losing``);
    n_returned: that came back (never). ticks: k in time, ticks, -1: not known."""

    k: int = UNKNOWN_K
    kept: int = UNKNOWN_K
    estimate: int = UNKNOWN_K
    low: int = UNKNOWN_K
    high: int = UNKNOWN_K
    n_window: int = 0
    n_observed: int = 0
    largest: int = 0
    n_violations: int = 0
    n_evicted: int = 0
    saved_tuples: int = 0
    n_lost: int = 0
    n_returned: int = 0
    ticks: int = UNKNOWN_K
    bins: Ints = field(default_factory=lambda: np.zeros(DISTANCE_BINS, np.int64))
    changes: tuple[KChange, ...] = ()
    seen: tuple[SeenDistance, ...] = ()


class ComponentCounts(NamedTuple):
    """The synopsis of one input at the end of a batch. plain: tuples that a join without
    constraints would hold (those in the window that pass the filter); the bytes of each kind of
    tuple: row_bytes of Yes and Unknown, no_bytes of No, spilled_bytes in memory of one that lies
    aside."""

    yes: int = 0
    no: int = 0
    unknown: int = 0
    spilled: int = 0
    plain: int = 0
    row_bytes: int = 0
    no_bytes: int = 0
    spilled_bytes: int = 0

    @property
    def n_tuples(self) -> int:
        """In memory."""
        return self.yes + self.no + self.unknown

    @property
    def n_bytes(self) -> int:
        """In memory, keys of those that lie aside included."""
        rows = (self.yes + self.unknown) * self.row_bytes
        return rows + self.no * self.no_bytes + self.spilled * self.spilled_bytes


@dataclass(frozen=True, slots=True)
class KMonProfile:
    """What a join under k-constraints tells of a batch. arrivals: of each input since the run
    began. n_results: that came in the batch; n_repeated: tuples whose key was there already, kept
    aside, with the first of their keys in words. monitor_ns, processor_ns: for watching, and in
    all. kept: some of the tuples that are held."""

    components: tuple[ComponentCounts, ...] = ()
    constraints: Mapping[ConstraintId, ConstraintProfile] = field(default_factory=dict)
    arrivals: tuple[int, ...] = ()
    n_results: int = 0
    n_repeated: int = 0
    repeated: tuple[str, ...] = ()
    monitor_ns: int = 0
    processor_ns: int = 0
    kept: tuple[KeptTuple, ...] = ()

    @property
    def accuracy(self) -> float | None:
        """Known where no results were lost: of how many there would have been, nothing is kept."""
        return None if any(own.n_lost for own in self.constraints.values()) else 1.0

    def merged(self, others: Sequence[KMonProfile]) -> KMonProfile:
        """The join runs in one shard, whose profile it is."""
        return self
