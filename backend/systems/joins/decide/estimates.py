"""What is known of a join and of the caches it may have. [B05] §5.5.1-2, card 10.1, 10.2"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from backend.adaptive.stats import Z95
from backend.operators.network.joins.join_tuning import JoinProfile, Segment
from backend.systems.joins.decide.cache_sizes import CacheSizes
from backend.systems.joins.decide.calibration import Calibration, n_operations
from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.costs import (
    PipelineFlow,
    ReaderCosts,
    UnitCosts,
    bare_costs,
    lookup_cost,
    maintenance_cost,
    reader_costs,
)
from backend.systems.joins.decide.join_model import LookupPlace
from backend.systems.joins.decide.misses import CacheMisses
from backend.systems.joins.decide.selection import Choice, PricedCache
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape, Orders
from backend.systems.joins.decide.statistics import (
    OperationCosts,
    PipelineStatistics,
    Rates,
    probe_cost,
)
from storage.vocabulary.memory import Tier

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
        counted, keep = settings.join_costs == "counted", settings.window_observations
        self.pipelines = [
            PipelineStatistics(shape.n, settings.keep_elements, counted) for _ in range(shape.n)
        ]
        self._rates = Rates(shape.n, keep * settings.block_probes)
        self._operations = OperationCosts(keep, counted, settings.w)
        self._misses = CacheMisses(keep, settings.block_probes)
        self._sizes = CacheSizes(settings)
        self._calibration = Calibration(keep)
        self._tells_time = False
        self._flows: tuple[PipelineFlow, ...] | None = None

    # ------------------------------------------------------------------ taking in

    def add(self, profile: JoinProfile, used: Mapping[str, CacheCandidate], choice: Choice) -> int:
        """Take in a batch; elements of the join in it. used: the caches that were in force."""
        for pipeline, counted in zip(self.pipelines, profile.pipelines, strict=True):
            pipeline.add(counted)
        n_elements = self._rates.add(profile)
        self._flows = None
        for id, segments in profile.shadows.items():
            for segment, shadow in segments.items():
                self._misses.add_shadow(id, segment, shadow)
                self._sizes.add_shadow(id, segment, shadow)
        seen = {id: counts for id, counts in profile.caches.items() if id in used}
        flows = self.flows() if seen else ()
        prior = self._operations.prior(self.probe_cost if seen else 0.0)
        for id, counts in seen.items():
            self._misses.add_used(id, counts)
            self._sizes.add_used(id, counts)
            self._operations.add(counts, lookup_cost(flows, choice.get(id, ()), prior))
        if n_elements and profile.processor_ns and self._settings.join_costs == "measured":
            self._tells_time = True
            if not profile.shadows:  # which take time, too
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
        calibration, flows, units = self._calibration, self.flows(), self.units
        probes_ns, operations_ns = sum(map(sum, bare_costs(flows))), 0.0
        for id, chosen in choice.items():
            operations_ns += maintenance_cost(used[id], flows, units)
            costs = self._readers(used[id], flows, units)
            for at, cost in zip(used[id].readers, costs, strict=True):
                if at in chosen:
                    probes_ns -= (1 - cost.miss_prob) * cost.segment
                    operations_ns += cost.lookups * cost.probe_cost + cost.miss_prob * cost.creates
        probes_ns, operations_ns = (
            probes_ns / calibration.of_probes,
            operations_ns / calibration.of_operations,
        )
        if choice:
            calibration.add_cached(taken_ns, probes_ns, operations_ns)
        else:
            calibration.add_bare(taken_ns, probes_ns, n_operations(profile))

    def reordered(self, pipelines: Sequence[int]) -> None:
        """These pipelines have other orders now."""
        for pipeline in pipelines:
            self.pipelines[pipeline].reordered()
        self._flows = None

    def forget(self, cache: str) -> None:
        """A cache is looked up in another way from now on: begin to watch it anew."""
        self._misses.forget(cache)
        self._sizes.forget(cache)

    def forget_shadows(self, cache: str) -> None:
        """A candidate is profiled anew."""
        self._misses.forget_shadows(cache)
        self._sizes.forget_shadows(cache)

    # ------------------------------------------------------------------ telling

    @property
    def probe_cost(self) -> float:
        """Of an index probe."""
        return probe_cost(self.pipelines, self._settings.join_costs == "counted")

    @property
    def probe_factor(self) -> float:
        """From what watched elements take to what others do."""
        return self._calibration.of_probes

    @property
    def units(self) -> UnitCosts:
        """Of operations of caches."""
        costs, factor = self._operations.units(self.probe_cost), self._calibration.of_operations
        return UnitCosts(*(factor * cost for cost in costs))

    def flows(self) -> tuple[PipelineFlow, ...]:
        """Of all pipelines."""
        if self._flows is None:
            shares, factor = self._rates.shares, self._calibration.of_probes
            pairs = zip(self.pipelines, shares, strict=True)
            self._flows = tuple(
                pipeline.flow(plus, minus, factor) for pipeline, (plus, minus) in pairs
            )
        return self._flows

    @property
    def shares(self) -> tuple[float, ...]:
        """By input, its elements per element of the join."""
        return tuple(share for share, _ in self._rates.shares)

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
        return self._misses.is_shadowed(candidate.id, reader)

    def begin_profiling(self) -> None:
        """W observations of each pipeline are to be made from now on."""
        for pipeline in self.pipelines:
            pipeline.n_new = 0

    def profiled(self) -> tuple[bool, ...]:
        """By pipeline whether they were made; where nothing comes to it there is nothing to see."""
        keep, shares = self._settings.keep_elements, self.shares
        return tuple(
            pipeline.n_new >= keep or (not share and any(shares))
            for pipeline, share in zip(self.pipelines, shares, strict=True)
        )

    def are_full(self) -> bool:
        """Whether there are W observations of each pipeline that something comes to."""
        keep, shares = self._settings.keep_elements, self.shares
        return any(shares) and all(
            pipeline.n >= keep or not share
            for pipeline, share in zip(self.pipelines, shares, strict=True)
        )

    def is_watched(self, candidate: CacheCandidate, choice: Choice) -> bool:
        """Whether W blocks of look-ups were seen of a candidate, used or not; where nothing looks
        it up there is nothing to wait for."""
        flows = self.flows()
        if candidate.id in choice:
            return self.is_observed(candidate.id)
        return all(
            self.is_shadowed(candidate, reader) or not flows[reader.pipeline].entering[reader.first]
            for reader in candidate.readers
        )

    def is_observed(self, cache: str) -> bool:
        """Whether W blocks of look-ups of a cache in use were seen."""
        return self._misses.is_observed(cache)

    def estimate(
        self, candidate: CacheCandidate, flows: Sequence[PipelineFlow], units: UnitCosts
    ) -> CacheEstimate:
        """All about a candidate. flows, units: of this moment."""
        readers = self._readers(candidate, flows, units)
        errors = tuple(
            self._error(at, flows[at.pipeline], costs)
            for at, costs in zip(candidate.readers, readers, strict=True)
        )
        n_keys, n_bytes = self._sizes.of(candidate, readers)
        cost = maintenance_cost(candidate, flows, units)
        return CacheEstimate(tuple(readers), cost, n_keys, n_bytes, errors)

    def priced(self, candidates: Iterable[CacheCandidate]) -> tuple[PricedCache, ...]:
        """Of candidates what a selection asks, at the moment."""
        flows, units = self.flows(), self.units
        return tuple(
            PricedCache(
                candidate,
                maintenance_cost(candidate, flows, units),
                tuple(reader.proc for reader in self._readers(candidate, flows, units)),
            )
            for candidate in candidates
        )

    def net(self, candidate: CacheCandidate, readers: Sequence[Segment]) -> float:
        """Benefit of these readers less cost, at the moment."""
        flows, units = self.flows(), self.units
        costs = zip(candidate.readers, self._readers(candidate, flows, units), strict=True)
        benefit = sum(reader.benefit for at, reader in costs if at in readers)
        return benefit - maintenance_cost(candidate, flows, units)

    def misses(
        self, candidates: Iterable[CacheCandidate], orders: Orders
    ) -> dict[LookupPlace, float]:
        """What is known of look-ups, by where they are made."""
        return self._misses.by_place(candidates, orders)

    def measured_saving(
        self, profile: JoinProfile, used: Mapping[str, CacheCandidate], choice: Choice
    ) -> float:
        """What caches saved in a batch: what their hits bypassed, less what they did for it. The
        price of operations is that of this moment, their number that of the batch."""
        flows, units = self.flows(), self.units
        n_elements = sum(pipeline.n_plus + pipeline.n_minus for pipeline in profile.pipelines)
        total = 0.0
        for id, counts in profile.caches.items():
            if id not in used or id not in choice:
                continue
            readers = [reader_costs(flows[r.pipeline], r, units, 0.0, 0) for r in choice[id]]
            lookups = sum(reader.lookups for reader in readers)
            if lookups:
                bypassed = sum(reader.segment for reader in readers) / lookups
                per_lookup = sum(reader.lookups * reader.probe_cost for reader in readers) / lookups
                total += counts.hits * bypassed - counts.probes * per_lookup
            upkeep = maintenance_cost(used[id], flows, units)
            total -= units.update * counts.creates + n_elements * upkeep
        return total

    def tiers(
        self, candidate: CacheCandidate, estimate: CacheEstimate, places: Sequence[int]
    ) -> list[Tier]:
        """The pages of each shard a cache wants, along its miss-ratio curve where reuse was
        seen."""
        gain = sum(estimate.readers[place].on_miss for place in places)
        size = estimate.n_keys, estimate.n_bytes
        return self._sizes.tiers(candidate.id, size, gain, estimate.net(places))

    # ------------------------------------------------------------------ going on

    def state(self) -> dict[str, Any]:
        """What was measured, as JSON-typed data."""
        return {
            "cost_by": self._settings.join_costs,
            "tells_time": self._tells_time,
            "calibration": self._calibration.state(),
            "operations": self._operations.state(),
            "pipelines": [pipeline.state() for pipeline in self.pipelines],
            "misses": self._misses.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> bool:
        """Go on with what was measured under these orders. False: costs are in another unit, and
        nothing of it is of use."""
        if state.get("cost_by") != self._settings.join_costs:
            return False
        self._tells_time = bool(state["tells_time"])
        self._calibration.restore(state["calibration"])
        self._operations.restore(state["operations"])
        for pipeline, pipeline_state in zip(self.pipelines, state["pipelines"], strict=True):
            pipeline.restore(pipeline_state)
        self._misses.restore(state["misses"])
        self._flows = None
        return True

    # ------------------------------------------------------------------ parts

    def _readers(
        self, candidate: CacheCandidate, flows: Sequence[PipelineFlow], units: UnitCosts
    ) -> list[ReaderCosts]:
        """Of all readers of a candidate. flows, units: of this moment."""
        readers = []
        for reader in candidate.readers:
            flow = flows[reader.pipeline]
            prob, n_probes = self._misses.prob(candidate, reader, flow)
            readers.append(reader_costs(flow, reader, units, prob, n_probes, candidate.n_counted))
        return readers

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
