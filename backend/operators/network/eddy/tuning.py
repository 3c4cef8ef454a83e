"""How an eddy is to be executed, and what it tells of that. Nothing of it touches results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.work import OperatorWork
from backend.operators.network.kinds.eddy import EddyOp

#: The inputs that an element joins after its own, in order.
Route = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateTuning:
    """The access methods of a state (AMRI, sections 4 and 9.3).

    bits: of each join attribute in the bit-address index of new partitions; None: no such index.
    modules: access patterns with a hash index on their attributes. partition: tuples of a
    partition. migrating: partitions, by number, that take on the bits of new ones. serves: where
    there are bits, too, patterns with the hash index that answers them though it has fewer
    attributes. most_bytes: of all these in each shard, None: no limit; what does not fit is left
    out, hash indexes first, the last one before the others.
    """

    bits: tuple[int, ...] | None = None
    modules: tuple[int, ...] = ()
    partition: int = 1024
    migrating: tuple[int, ...] = ()
    serves: tuple[tuple[int, int], ...] = ()
    most_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class EddyTuning:
    """routes: of each input, first the one in force, then those that are explored; exploration: the
    share of elements that take one of these, chosen by a hash of ``seed`` and their number.
    migration_us: time that partitions may migrate in a batch and shard."""

    routes: tuple[tuple[Route, ...], ...] = ()
    exploration: float = 0.0
    states: tuple[StateTuning, ...] = ()
    migration_us: int = 2000
    seed: int = 0

    def planned(self, work: OperatorWork) -> EddyOp:
        """The eddy with its routes in force. Raises TypeError: the operator is none."""
        if not isinstance(work, EddyOp):
            raise TypeError(f"{type(work).__name__} is no eddy")
        return (
            replace(work, orders=tuple(routes[0] for routes in self.routes))
            if self.routes
            else work
        )


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """A partition of a state: its number, the tuples in its index, the bits of each attribute; the
    shard it is in, in which partitions are numbered."""

    number: int
    n_tuples: int
    bits: tuple[int, ...]
    shard: int = 0


@dataclass(frozen=True, slots=True)
class StateReport:
    """A state at the end of a batch. index_bytes: of its access methods. migrated: tuples that
    were bucketed anew, in migration_ns. by_shard: tuples in each shard. span, slots: of the shard
    where they are most, tuples that its store spans, and places of it, which indexes are as large
    as. is_cut: not all of the access methods fit their memory."""

    n_tuples: int
    index_bytes: int
    partitions: tuple[PartitionReport, ...]
    migrated: int
    migration_ns: int
    by_shard: tuple[int, ...] = ()
    span: int = 0
    slots: int = 0
    is_cut: bool = False

    @property
    def n_searched(self) -> float:
        """Tuples in the shard of a tuple, on average: a request searches one shard."""
        return sum(n * n for n in self.by_shard) / self.n_tuples if self.n_tuples else 0.0


@dataclass(frozen=True, slots=True)
class EddyProfile:
    """An eddy of n inputs in a batch.

    came: int64[n, 2], elements with sign + and - of each input. requests: int64[n, 2^N, N_REQUEST],
    of the search requests to each state by access pattern: how many, tuples matched, tuples
    compared, buckets visited, tuples of which the code alone was read; where something is compared
    by order tuples that agreed in all that is equal, and of these by attribute those in its range.
    routes: int64[n, routes, 5], by origin and route: elements, requests, tuples compared, buckets
    visited, codes read. processor_ns: what all took.
    """

    came: Ints
    requests: Ints
    routes: Ints
    states: tuple[StateReport, ...]
    processor_ns: int

    def merged(self, others: Sequence[EddyProfile]) -> EddyProfile:
        """With those of other shards."""
        parts = [self, *others]
        return EddyProfile(
            came=np.sum([part.came for part in parts], axis=0),
            requests=np.sum([part.requests for part in parts], axis=0),
            routes=np.sum([part.routes for part in parts], axis=0),
            states=tuple(
                _added(states) for states in zip(*(part.states for part in parts), strict=True)
            ),
            processor_ns=sum(part.processor_ns for part in parts),
        )


def _added(parts: Sequence[StateReport]) -> StateReport:
    """Shards are numbered in the order of their reports."""
    return StateReport(
        sum(part.n_tuples for part in parts),
        sum(part.index_bytes for part in parts),
        tuple(
            replace(partition, shard=shard)
            for shard, part in enumerate(parts)
            for partition in part.partitions
        ),
        sum(part.migrated for part in parts),
        sum(part.migration_ns for part in parts),
        tuple(n for part in parts for n in part.by_shard),
        max(part.span for part in parts),
        max(part.slots for part in parts),
        any(part.is_cut for part in parts),
    )
