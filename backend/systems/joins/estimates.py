"""What is known of a join and of the caches it may have. [B05] §5.5.1-2, card 10.1, 10.2"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.stats import Z95
from backend.operators.network.join_tuning import (
    PAGE_BYTES,
    RUN_BLOCKS,
    CacheCounts,
    JoinProfile,
    Segment,
)
from backend.systems.joins.calibration import Calibration, n_operations
from backend.systems.joins.candidates import CacheCandidate
from backend.systems.joins.costs import (
    PipelineFlow,
    ReaderCosts,
    UnitCosts,
    bare_costs,
    lookup_cost,
    maintenance_cost,
    reader_costs,
)
from backend.systems.joins.join_model import LookupPlace
from backend.systems.joins.memory import MissRatioCurve, Tier, keys_behind, pages, single_tier
from backend.systems.joins.selection import Choice
from backend.systems.joins.settings import JoinSettings
from backend.systems.joins.shape import JoinShape, Orders
from backend.systems.joins.statistics import (
    MissWindow,
    OperationCosts,
    PipelineStatistics,
    Rates,
    probe_cost,
)

KeyT = TypeVar("KeyT")
#: Words of 8 bytes of a cell besides a key, besides references; an entry takes a cell for itself
#: and one for each tuple of its segment, each with a word of the directory.
_KEY_WORDS, _REFERENCE_WORDS = 3, 1

#: Of all time: what caches have to save by what is assumed of them, to be tried.
_TRIAL_SHARE: Final = 0.2


class CacheEstimate(NamedTuple):
    """A candidate in numbers, per element of the join. readers: as in the candidate. n_keys,
    n_bytes: what it is expected to hold in each shard. errors: standard error of each reader's
    benefit."""

    readers: tuple[ReaderCosts, ...]
    cost: float
    n_keys: float
    n_bytes: float
    errors: tuple[float, ...]

    def net(self, places: Sequence[int]) -> float:
        """Benefit less cost with some of its readers."""
        return sum(self.readers[place].benefit for place in places) - self.cost

    def interval(self, places: Sequence[int]) -> tuple[float, float]:
        """Of the net value, 95 %, normal theory."""
        half = Z95 * math.sqrt(sum(self.errors[place] ** 2 for place in places))
        return self.net(places) - half, self.net(places) + half


class JoinStatistics:
    """Keeps what decisions on a join rest on."""

    def __init__(self, shape: JoinShape, settings: JoinSettings) -> None:
        self._shape, self._settings = shape, settings
        counted, keep = settings.cost_by == "counted", settings.window_observations
        self.pipelines = [
            PipelineStatistics(shape.n, settings.keep_elements, counted) for _ in range(shape.n)
        ]
        self._rates = Rates(shape.n, keep * settings.block_probes)
        self._operations = OperationCosts(keep, counted, settings.w)
        self._shadows: dict[tuple[str, Segment], MissWindow] = {}
        self._shadow_keys: dict[tuple[str, Segment], float] = {}
        self._observed: dict[str, MissWindow] = {}
        self._reuse: dict[str, deque[NDArray[np.int64]]] = {}
        self._counts: dict[str, CacheCounts] = {}
        self._calibration = Calibration(keep)
        self._tells_time = False
        self._flows: tuple[PipelineFlow, ...] | None = None

    # ------------------------------------------------------------------ taking in

    def add(self, profile: JoinProfile, used: Mapping[str, CacheCandidate], choice: Choice) -> int:
        """Take in a batch; elements of the join in it. used: the caches that were in force."""
        for one, told in zip(self.pipelines, profile.pipelines, strict=True):
            one.add(told)
        n_elements = self._rates.add(profile)
        self._flows = None
        block = self._settings.block_probes
        for id, segments in profile.shadows.items():
            for segment, shadow in segments.items():
                window = self._window(self._shadows, (id, segment))
                window.add(shadow.n_probes, shadow.misses, shadow.n_blocks)
                if shadow.n_runs:
                    self._shadow_keys[id, segment] = shadow.n_keys / shadow.n_runs
        seen = {id: counts for id, counts in profile.caches.items() if id in used}
        flows = self.flows() if seen else ()
        prior = self._operations.prior(self.probe_cost if seen else 0.0)
        for id, counts in seen.items():
            window = self._window(self._observed, id)
            window.add(counts.probes, counts.probes - counts.hits, counts.probes / block)
            self._operations.add(counts, lookup_cost(flows, choice.get(id, ()), prior))
            self._counts[id] = counts
            keep = self._settings.window_observations
            self._reuse.setdefault(id, deque(maxlen=keep)).append(counts.reuse)
        if n_elements and profile.processor_ns and self._settings.cost_by == "measured":
            self._tells_time = True
            self._calibrate(profile, used, choice, profile.processor_ns / n_elements)
            self._flows = None
        return n_elements

    def _calibrate(
        self,
        profile: JoinProfile,
        used: Mapping[str, CacheCandidate],
        choice: Choice,
        taken_ns: float,
    ) -> None:
        """taken_ns: by the batch, per element."""
        found, flows, units = self._calibration, self.flows(), self.units
        probes_ns, operations_ns = sum(map(sum, bare_costs(flows))), 0.0
        for id, readers in choice.items():
            estimate = self.estimate(used[id], flows, units)
            operations_ns += estimate.cost
            for reader in readers:
                one = estimate.readers[used[id].readers.index(reader)]
                probes_ns -= (1 - one.miss_prob) * one.segment
                operations_ns += one.lookups * one.probe_cost + one.miss_prob * one.creates
        probes_ns, operations_ns = probes_ns / found.of_probes, operations_ns / found.of_operations
        if choice:
            found.add_cached(taken_ns, probes_ns, operations_ns)
        elif not profile.shadows:
            found.add_bare(taken_ns, probes_ns, n_operations(profile))

    def reordered(self, pipelines: Sequence[int]) -> None:
        """These pipelines have other orders now."""
        for one in pipelines:
            self.pipelines[one].reordered()
        self._flows = None

    def forget(self, cache: str) -> None:
        """A cache is looked up in another way from now on: begin to watch it anew."""
        self._observed.pop(cache, None)
        self._reuse.pop(cache, None)
        self._counts.pop(cache, None)

    def forget_shadows(self, cache: str) -> None:
        """A candidate is profiled anew."""
        self._shadows = {key: one for key, one in self._shadows.items() if key[0] != cache}
        self._shadow_keys = {key: n for key, n in self._shadow_keys.items() if key[0] != cache}

    # ------------------------------------------------------------------ telling

    @property
    def probe_cost(self) -> float:
        """Of an index probe."""
        return probe_cost(self.pipelines, self._settings.cost_by == "counted")

    @property
    def probe_factor(self) -> float:
        """From what watched elements take to what others do."""
        return self._calibration.of_probes

    @property
    def units(self) -> UnitCosts:
        """Of operations of caches."""
        found, factor = self._operations.units(self.probe_cost), self._calibration.of_operations
        return UnitCosts(*(factor * cost for cost in found))

    def flows(self) -> tuple[PipelineFlow, ...]:
        """Of all pipelines."""
        if self._flows is None:
            shares, factor = self._rates.shares.tolist(), self._calibration.of_probes
            pairs = zip(self.pipelines, shares, strict=True)
            self._flows = tuple(one.flow(plus, minus, factor) for one, (plus, minus) in pairs)
        return self._flows

    @property
    def shares(self) -> tuple[float, ...]:
        """By input, its elements per element of the join."""
        return tuple(self._rates.shares[:, 0].tolist())

    @property
    def waits_for_bare(self) -> bool:
        """Whether batches without shadow look-ups are missing, which say what the join takes."""
        return self._tells_time and not self._calibration.knows_bare

    def least_gain(self, cost: float) -> float:
        """What a choice of caches has to save to be tried. cost: of the join without any. Where
        time counts and operations of caches were never measured, what they take is not known to a
        factor of a few: a share of all that an element takes."""
        if not self._tells_time or self._calibration.knows_cached:
            return 0.0
        return _TRIAL_SHARE * (cost + self._calibration.fixed_ns)

    def is_shadowed(self, candidate: CacheCandidate, reader: Segment) -> bool:
        """Whether W blocks of shadow look-ups were seen of a reader."""
        window = self._shadows.get((candidate.id, reader))
        return window is not None and window.is_full

    def begin_profiling(self) -> None:
        """W observations of each pipeline are to be made from now on."""
        for one in self.pipelines:
            one.n_new = 0

    def profiled(self) -> tuple[bool, ...]:
        """By pipeline whether they were made; where nothing comes to it there is nothing to see."""
        keep, shares = self._settings.keep_elements, self.shares
        return tuple(
            one.n_new >= keep or (not share and any(shares))
            for one, share in zip(self.pipelines, shares, strict=True)
        )

    def are_full(self) -> bool:
        """Whether there are W observations of each pipeline that something comes to."""
        keep, shares = self._settings.keep_elements, self.shares
        return any(shares) and all(
            one.n >= keep or not share for one, share in zip(self.pipelines, shares, strict=True)
        )

    def is_watched(self, candidate: CacheCandidate, choice: Choice) -> bool:
        """Whether W blocks of look-ups were seen of a candidate, used or not; where nothing looks
        it up there is nothing to wait for."""
        flows = self.flows()
        if candidate.id in choice:
            return self.is_observed(candidate.id)
        return all(
            self._window(self._shadows, (candidate.id, reader)).is_full
            or not flows[reader.pipeline].entering[reader.first]
            for reader in candidate.readers
        )

    def is_observed(self, cache: str) -> bool:
        """Whether W blocks of look-ups of a cache in use were seen."""
        return cache in self._observed and self._observed[cache].is_full

    def counts(self, cache: str) -> CacheCounts | None:
        """Of the last batch a cache was used in."""
        return self._counts.get(cache)

    def estimate(
        self, candidate: CacheCandidate, flows: Sequence[PipelineFlow], units: UnitCosts
    ) -> CacheEstimate:
        """flows, units: of this moment. A reader nobody looked up is taken to miss always."""
        readers, errors = [], []
        for reader in candidate.readers:
            flow = flows[reader.pipeline]
            prob, n_probes = self._miss_prob(candidate, reader, flow)
            found = reader_costs(flow, reader, units, prob, n_probes, candidate.n_counted)
            readers.append(found)
            errors.append(self._error(reader, flow, found))
        n_keys, n_bytes = self._size(candidate, readers)
        cost = maintenance_cost(candidate, flows, units)
        return CacheEstimate(tuple(readers), cost, n_keys, n_bytes, tuple(errors))

    def net(self, candidate: CacheCandidate, readers: Sequence[Segment]) -> float:
        """Benefit of these readers less cost, at the moment."""
        flows, units, total = self.flows(), self.units, 0.0
        for reader in readers:
            flow = flows[reader.pipeline]
            prob, n_probes = self._miss_prob(candidate, reader, flow)
            found = reader_costs(flow, reader, units, prob, n_probes, candidate.n_counted)
            total += found.benefit
        return total - maintenance_cost(candidate, flows, units)

    def misses(
        self, candidates: Iterable[CacheCandidate], orders: Orders
    ) -> dict[LookupPlace, float]:
        """What is known of look-ups, by where they are made: of plain caches in use as observed,
        else as the shadow says, which asks for the key alone."""
        found = dict[LookupPlace, float]()
        for one in candidates:
            is_seen = not one.witnesses and self.is_observed(one.id)
            for at in one.readers:
                window = self._observed[one.id] if is_seen else self._shadows.get((one.id, at))
                if window is not None and window.prob is not None:
                    joined = frozenset((at.pipeline, *orders[at.pipeline][: at.first]))
                    found[at.pipeline, joined, one.key] = window.prob
        return found

    def measured_saving(
        self, profile: JoinProfile, used: Mapping[str, CacheCandidate], choice: Choice
    ) -> float:
        """What caches saved in a batch: what their hits bypassed, less what they did for it. The
        price of operations is that of this moment, their number that of the batch."""
        flows, units = self.flows(), self.units
        n_elements = sum(one.n_plus + one.n_minus for one in profile.pipelines)
        total = 0.0
        for id, counts in profile.caches.items():
            if id not in used or id not in choice:
                continue
            readers = [reader_costs(flows[r.pipeline], r, units, 0.0, 0) for r in choice[id]]
            lookups = sum(one.lookups for one in readers)
            if lookups:
                bypassed = sum(one.segment for one in readers) / lookups
                per_lookup = sum(one.lookups * one.probe_cost for one in readers) / lookups
                total += counts.hits * bypassed - counts.probes * per_lookup
            upkeep = maintenance_cost(used[id], flows, units)
            total -= units.update * counts.creates + n_elements * upkeep
        return total

    def tiers(
        self, candidate: CacheCandidate, estimate: CacheEstimate, places: Sequence[int]
    ) -> list[Tier]:
        """The pages of each shard a cache wants, along its miss-ratio curve where reuse was
        seen."""
        id, room = candidate.id, self._room
        curve = MissRatioCurve.of(np.sum(self._reuse[id], axis=0)) if id in self._reuse else None
        tiers: list[Tier] = []
        if curve is not None:
            gain = sum(estimate.readers[place].on_miss for place in places)
            key_bytes = room * estimate.n_bytes / max(1.0, estimate.n_keys)
            tiers = curve.tiers(gain, key_bytes, PAGE_BYTES)
        n_pages = pages(room * estimate.n_bytes, PAGE_BYTES)
        return tiers or single_tier(estimate.net(places), n_pages)

    # ------------------------------------------------------------------ parts

    @property
    def _room(self) -> float:
        """How much more than its entries a cache wants, so that keys rarely collide: the number of
        sets is a power of two, perhaps half of what there is room for, and of four ways as many
        sets as keys are to be there."""
        return 2 * (1 + 1 / self._settings.ways)

    def _window(self, windows: dict[KeyT, MissWindow], key: KeyT) -> MissWindow:
        return windows.setdefault(key, MissWindow(self._settings.window_observations))

    def _miss_prob(
        self, candidate: CacheCandidate, reader: Segment, flow: PipelineFlow
    ) -> tuple[float, int]:
        """As observed once there is enough of that, before as looked up in the shadow; and how many
        look-ups that rests on.

        Where a witness is of the input that looks up, an entry goes with its last tuple (erratum 7
        A), so that only look-ups that find something can hit: at most as many as find a result.
        """
        if self.is_observed(candidate.id):
            window = self._observed[candidate.id]
        else:
            window = self._shadows.get((candidate.id, reader), MissWindow(1))
        prob = window.prob
        if prob is None:
            return 1.0, 0
        lookups = flow.entering[reader.first]
        drops_empty = candidate.n_counted and reader.pipeline in candidate.witnesses
        if drops_empty and lookups and not self.is_observed(candidate.id):
            found = min(1.0, flow.entering[candidate.update_step + 1] / lookups)
            prob = 1 - (1 - prob) * found
        return prob, window.n_probes

    def _error(self, reader: Segment, flow: PipelineFlow, costs: ReaderCosts) -> float:
        """Standard error of a benefit: of the segment's cost, and of the miss probability."""
        spent = self.pipelines[reader.pipeline].segment_costs(reader)
        of_cost = 0.0
        if len(spent) > 1:
            of_cost = self.probe_factor * flow.share * float(spent.std(ddof=1))
            of_cost /= math.sqrt(len(spent))
        miss, n = costs.miss_prob, max(1, costs.n_probes)
        of_miss = math.sqrt(miss * (1 - miss) / n) * costs.on_miss
        return math.hypot((1 - miss) * of_cost, of_miss)

    def _size(
        self, candidate: CacheCandidate, readers: Sequence[ReaderCosts]
    ) -> tuple[float, float]:
        """Keys and bytes of each shard: as held where a cache is in use and nothing was evicted,
        else by the keys behind its look-ups and the tuples of its segment for each."""
        counts, n_shards = self._counts.get(candidate.id), self._settings.n_shards
        cell = max(_KEY_WORDS + len(candidate.key), _REFERENCE_WORDS + len(candidate.windows))
        refs = max((one.leaving / one.lookups for one in readers if one.lookups), default=0.0)
        key_bytes = 8 * (cell + 1) * (1 + refs)
        block = self._settings.block_probes
        run = RUN_BLOCKS * block
        seen = [self._shadow_keys.get((candidate.id, reader)) for reader in candidate.readers]
        expected = [
            keys_behind(one.miss_prob, block) if n is None else keys_behind(n / run, run)
            for one, n in zip(readers, seen, strict=True)
        ]
        n_keys = max(expected, default=0.0)
        if counts is None or not counts.n_entries:
            return n_keys, n_keys * key_bytes
        key_bytes, held = counts.n_bytes / counts.n_entries, counts.n_entries / n_shards
        n_keys = max(n_keys, held) if counts.evictions else held
        return n_keys, max(n_keys * key_bytes, counts.n_bytes / n_shards)
