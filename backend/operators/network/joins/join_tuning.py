"""How a join is to be executed, and what it tells of that: words between executor and decisions.

Nothing of it touches results (Babu 2005, ch. 5; cards 7, 9 to 11). Inputs, steps and classes are
counted from 0; step j of a pipeline probes the j-th input of its order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.work import OperatorWork
from backend.operators.network.kinds.joins import JoinOp

#: Observations of a pipeline that are told of a batch, at most.
MOST_OBSERVATIONS: Final = 200
#: Reuse distances that are told apart: bin b holds those of 2^b to 2^(b+1)-1 (bin 0 also 0), the
#: last one those of keys that were not seen before, or longer ago than is remembered.
REUSE_BINS: Final = 24
#: Blocks of shadow look-ups with one bitmap, and those of them that only fill it: a cache would
#: know their keys, so that the misses of a block that begins with nothing say too much.
RUN_BLOCKS: Final = 12
FIRST_BLOCKS: Final = 2

Words: TypeAlias = NDArray[np.uint64]
_Part = TypeVar("_Part")


class Segment(NamedTuple):
    """Steps ``first`` to ``last``, both included, of the pipeline of input ``pipeline``."""

    pipeline: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class CacheSpec:
    """One cache, perhaps read in several pipelines (cards 9, 11).

    id: stable, of its windows and key, such as '1,2|0'; unique in its join. windows: X, the inputs
    joined in the segment, ascending. key: the equality classes (places in ``JoinOp.equal``) that
    its values are found by, ascending; (): one entry. readers: where it is looked up. n_bytes: its
    budget, whole pages. witnesses: Y of a globally consistent cache X ⋉ Y; (): a plain one. keyed:
    Y is one input, and an entry lives as long as that holds a tuple with its key. ways: entries of
    a set; 1: direct-mapped.
    """

    id: str
    windows: tuple[int, ...]
    key: tuple[int, ...]
    readers: tuple[Segment, ...]
    n_bytes: int
    witnesses: tuple[int, ...] = ()
    keyed: bool = False
    ways: int = 1


@dataclass(frozen=True, slots=True)
class JoinTuning:
    """How one join is executed.

    orders: for each input the order in which it probes the others; (): as planned. profile_prob:
    for each pipeline the share of its elements that are profiled, chosen by a hash of ``seed`` and
    their number, one of each 1 / share elements; (): none. shadows: candidates whose miss
    probability is estimated, in each of their readers by blocks of ``block_probes`` look-ups, by
    ``bitmap_alpha`` bits for each of a run of blocks (card 10.2). shadow_blocks: after how many
    blocks of a batch and shard a reader is not looked up any more; 0: it goes on. two_phase: look
    for a partner in each window before results are made (card 7).
    """

    orders: tuple[tuple[int, ...], ...] = ()
    caches: tuple[CacheSpec, ...] = ()
    profile_prob: tuple[float, ...] = ()
    shadows: tuple[CacheSpec, ...] = ()
    block_probes: int = 1000
    bitmap_alpha: int = 8
    shadow_blocks: int = 0
    two_phase: bool = False
    seed: int = 0

    def planned(self, work: OperatorWork) -> JoinOp:
        """The join with its probe orders. Raises TypeError: the operator is none."""
        if not isinstance(work, JoinOp):
            raise TypeError(f"{type(work).__name__} is no join")
        return replace(work, orders=self.orders) if self.orders else work


@dataclass(frozen=True, slots=True)
class PipelineProfile:
    """A pipeline of n-1 steps in a batch; k of its elements were profiled, without caches.

    n_plus, n_minus: elements that came. n_probes, n_built, n_scanned: operations of all of them:
    indexes probed, tuples built (those that caches forwarded included), tuples looked at. The rest
    is of the profiled ones, by τ: tau: int64[k]. entering: int64[k, n], tuples that enter each
    step; last column: results. busy_ns: int64[k, n-1], time at each step. scanned: int64[k, n-1],
    tuples looked at. dropped_by: uint64[k], bit j: nothing in input j joins with it along the
    shortest path of shared classes to j (the profile tuple of A-Greedy).
    """

    n_plus: int
    n_minus: int
    n_probes: int
    n_built: int
    n_scanned: int
    tau: Ints
    entering: Ints
    busy_ns: Ints
    scanned: Ints
    dropped_by: Words


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """A cache in a batch. n_entries, n_refs, n_bytes: what it holds at the end, references being
    tuples of its segment. lookup_ns of n_lookups_timed look-ups, what hits forward included;
    update_ns of n_updates_timed inserts, deletes and creates (ignored ones included). reuse:
    int64[REUSE_BINS], distances in distinct keys between look-ups of a key, of sampled keys."""

    probes: int = 0
    hits: int = 0
    creates: int = 0
    inserts: int = 0
    deletes: int = 0
    evictions: int = 0
    n_entries: int = 0
    n_refs: int = 0
    n_bytes: int = 0
    n_lookups_timed: int = 0
    lookup_ns: int = 0
    n_updates_timed: int = 0
    update_ns: int = 0
    reuse: Ints = field(default_factory=lambda: np.zeros(REUSE_BINS, np.int64))


@dataclass(frozen=True, slots=True)
class ShadowCounts:
    """Shadow look-ups in blocks that were finished in a batch. misses: keys that were new in these
    blocks, by linear counting; blocks come in runs of ``RUN_BLOCKS`` with one bitmap, the first
    ``FIRST_BLOCKS`` of which only fill it and are not told of. n_keys: different ones in each
    whole run, summed over n_runs."""

    n_probes: int = 0
    misses: float = 0.0
    n_blocks: int = 0
    n_keys: float = 0.0
    n_runs: int = 0


@dataclass(frozen=True, slots=True)
class JoinProfile:
    """What a join tells of a batch: its pipelines, caches by id, shadow look-ups by id and
    segment; processor_ns: all its elements took."""

    pipelines: tuple[PipelineProfile, ...] = ()
    caches: Mapping[str, CacheCounts] = field(default_factory=dict)
    shadows: Mapping[str, Mapping[Segment, ShadowCounts]] = field(default_factory=dict)
    processor_ns: int = 0

    def merged(self, others: Sequence[JoinProfile]) -> JoinProfile:
        """With those of other shards."""
        return added_profiles([self, *others])


#: What is told of each profiled element.
_OBSERVED: Final = ("tau", "entering", "busy_ns", "scanned", "dropped_by")


def added_profiles(parts: Sequence[JoinProfile]) -> JoinProfile:
    """The profiles of all shards as one."""
    pipelines = zip(*(profile.pipelines for profile in parts if profile.pipelines), strict=True)
    segments = _by_name([profile.shadows for profile in parts], lambda counts: counts)
    return JoinProfile(
        tuple(_pipeline(profiles) for profiles in pipelines),
        _by_name([profile.caches for profile in parts], added_fields),
        {id: _by_name(counts, added_fields) for id, counts in segments.items()},
        sum(profile.processor_ns for profile in parts),
    )


def _by_name(
    parts: Sequence[Mapping[Any, Any]], join: Callable[[list[Any]], Any]
) -> dict[Any, Any]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: join([part[name] for part in parts if name in part]) for name in names}


def added_fields(parts: Sequence[_Part], kept: Collection[str] = ()) -> _Part:
    """Counts of which every field adds up but those ``kept``, which are as the first has them."""
    first: Any = parts[0]
    names = [item.name for item in fields(first) if item.name not in kept]
    added: _Part = replace(
        first, **{name: sum(getattr(part, name) for part in parts) for name in names}
    )
    return added


def _pipeline(parts: Sequence[PipelineProfile]) -> PipelineProfile:
    """Observations by τ, the newest where there are more than are told."""
    newest = np.argsort(np.concatenate([part.tau for part in parts]), kind="stable")
    newest = newest[-MOST_OBSERVATIONS:]

    def observed(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])[newest]

    return replace(added_fields(parts, _OBSERVED), **{name: observed(name) for name in _OBSERVED})
