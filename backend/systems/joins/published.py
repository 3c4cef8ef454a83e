"""Tuned joins as introspection shows them: pipelines, pools, caches with their bids, matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Final, NamedTuple

from backend.model.ids import entity_id
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.joins.join_tuning import CacheCounts, JoinProfile
from backend.systems.contract import UnitState
from backend.systems.cores import LaidOutNetwork
from backend.systems.joins.decide.candidates import CacheCandidate, conflicts
from backend.systems.joins.decide.estimates import CacheEstimate
from backend.systems.joins.decide.regret import CachingTotals
from backend.systems.joins.join import AdaptiveJoin
from backend.systems.publishing import Values, samples_of
from storage.vocabulary.graph import PlanEdge, PlanGraph, PlanNode
from storage.vocabulary.joins import CACHE_STATES
from storage.vocabulary.memory import PAGE_BYTES, MemoryUse, Tier
from storage.vocabulary.records import Entity, Json, Matrix, Sample

_KB: Final = 1024
_COST: Final = "cost/tuple"
BID: Final = "cost/tuple/KB"


class MemoryTier(NamedTuple):
    """Bytes, in all shards, that a cache wants at one priority, by KB; what they save."""

    n_bytes: int
    priority: float
    saving: float


class CacheNumbers(NamedTuple):
    """A candidate at this moment, costs in the unit that is told. wanted, granted: bytes, in all
    shards.
    miss_prob, benefit: None of one that nobody looked up so far, which has no tiers. tiers: what it
    wants, the first stretch first, as the pool serves it."""

    candidate: CacheCandidate
    state: str
    miss_prob: float | None
    benefit: float | None
    upkeep: float
    tiers: tuple[MemoryTier, ...]
    granted: int

    @property
    def wanted(self) -> int | None:
        """Bytes."""
        return sum(tier.n_bytes for tier in self.tiers) or None

    @property
    def bid(self) -> float | None:
        """Benefit less upkeep for each KB."""
        if self.benefit is None or not self.wanted:
            return None
        return (self.benefit - self.upkeep) / (self.wanted / _KB)


class PublishedJoin:
    """A tuned join of a network with the ids of what belongs to it, at one moment."""

    def __init__(self, network: LaidOutNetwork, join: AdaptiveJoin) -> None:
        self.unit_id, self._join = network.unit_id, join
        self.id = join.id
        self.node = network.node(join.id)
        self.pool = entity_id(self.unit_id, "pool", join.id)

    def pipeline(self, input: int) -> str:
        """The pipeline of an input."""
        return entity_id(self.unit_id, "pipeline", f"{self._join.id}.{input}")

    def cache(self, candidate: str) -> str:
        """A cache, by the id of its candidate."""
        return entity_id(self.unit_id, "cache", f"{self._join.id} {candidate}")

    @property
    def caches(self) -> dict[str, str]:
        """All candidates with their caches."""
        return {candidate.id: self.cache(candidate.id) for candidate in self._join.candidates}

    def _order(self, input: int) -> list[str]:
        names = self._join.shape.names
        return [names[i] for i in self._join.core.orders[input]]

    # ------------------------------------------------------------------ the plan

    def entities(self) -> list[Entity]:
        """The pipelines, the pool and all candidates."""
        join, names = self._join, self._join.shape.names
        pool = {"join": self.node, "page_bytes": PAGE_BYTES, "shards": join.n_shards}
        entities = [self._entity(self.pool, "pool", f"Pool of {join.name}", pool)]
        for input, name in enumerate(names):
            facts = {"join": self.node, "input": name, "order": self._order(input)}
            id, words = self.pipeline(input), f"Pipeline of {name}: {join.name}"
            entities.append(self._entity(id, "pipeline", words, facts))
        for candidate in join.candidates:
            cache_facts = self._facts(candidate)
            entities.append(
                self._entity(
                    self.cache(candidate.id), "cache", join.cache_name(candidate), cache_facts
                )
            )
        return entities

    def _entity(self, id: str, role: str, name: str, facts: Mapping[str, Json]) -> Entity:
        kind = "operator" if role == "pipeline" else role
        return Entity(id, kind, name, dict(facts), unit_id=self.unit_id, role=role)  # type: ignore[arg-type]  # pool, cache or operator

    def _facts(self, candidate: CacheCandidate) -> dict[str, Json]:
        names = self._join.shape.names
        return {
            "join": self.node,
            "pool": self.pool,
            "short_name": self._join.short_name(candidate),
            "windows": [names[i] for i in candidate.windows],
            "witnesses": [names[i] for i in candidate.witnesses],
            "key": list(self._join.key_of(candidate)),
            "keyed": candidate.keyed,
            "readers": [
                {
                    "pipeline": self.pipeline(reader.pipeline),
                    "name": names[reader.pipeline],
                    "first": reader.first,
                    "last": reader.last,
                }
                for reader in candidate.readers
            ],
        }

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        """The plan with the caches in use beside the join, and the orders of its pipelines."""
        used = [
            candidate
            for candidate in self._join.candidates
            if candidate.id in self._join.core.caches.choice
        ]
        names = self._join.shape.names
        orders = {name: self._order(input) for input, name in enumerate(names)}
        nodes = [
            PlanNode(n.id, n.role, n.name, {**n.properties, "pipelines": orders})
            if n.id == self.node
            else n
            for n in graph.nodes
        ]
        caches = [PlanNode(self.cache(c.id), "cache", self._join.cache_name(c)) for c in used]
        edges = [PlanEdge(cache.id, self.node, "") for cache in caches]
        return PlanGraph((*nodes, *caches), (*graph.edges, *edges))

    # ------------------------------------------------------------------ numbers

    def _cost(self, cost: float) -> float:
        """A cost of the core as it is told: microseconds, or index probes."""
        return cost if self._join.core.settings.join_costs == "counted" else cost / 1e3

    @cached_property
    def numbers(self) -> list[CacheNumbers]:
        """All candidates at this moment."""
        core, page_bytes = self._join.core, PAGE_BYTES * self._join.n_shards
        known, held = core.known, core.caches.pages.held
        flows, units, states = known.flows(), known.units, core.caches.states.all()
        numbers = []
        for candidate in self._join.candidates:
            estimate = known.estimate(candidate, flows, units)
            places, miss_prob = self._places(candidate, estimate), _miss_prob(estimate)
            benefit, tiers = None, tuple[MemoryTier, ...]()
            if miss_prob is not None:
                benefit = self._cost(sum(estimate.readers[place].benefit for place in places))
                tiers = self._tiers(known.tiers(candidate, estimate, places), page_bytes, benefit)
            state, pages = states.get(candidate.id, "unused"), held.get(candidate.id, 0)
            upkeep, granted = self._cost(estimate.cost), page_bytes * pages
            numbers.append(
                CacheNumbers(candidate, state, miss_prob, benefit, upkeep, tiers, granted)
            )
        return numbers

    def _tiers(
        self, tiers: Sequence[Tier], page_bytes: int, benefit: float
    ) -> tuple[MemoryTier, ...]:
        """Along a miss-ratio curve each saves what its hits do; a single one has all benefit."""
        memory_tiers = []
        for tier in tiers:
            n_bytes = page_bytes * tier.n_pages
            saving = self._cost(tier.priority * tier.n_pages)
            priority = saving / (n_bytes / _KB)
            memory_tiers.append(
                MemoryTier(n_bytes, priority, saving if len(tiers) > 1 else benefit)
            )
        return tuple(memory_tiers)

    def _places(self, candidate: CacheCandidate, estimate: CacheEstimate) -> tuple[int, ...]:
        """The readers in use; of what is not used those that would pay."""
        used = self._join.core.caches.choice.get(candidate.id)
        if used:
            return tuple(candidate.readers.index(reader) for reader in used)
        return tuple(p for p, reader in enumerate(estimate.readers) if reader.benefit > 0)

    def profile(self, report: NetworkReport) -> JoinProfile | None:
        """What the join tells of a batch; None: it was not tuned then."""
        return self._join.profile(report)

    def samples(self, report: NetworkReport) -> list[Sample]:
        """Of a batch."""
        profile = self.profile(report) or JoinProfile()
        samples = samples_of(self.pool, {**self._pool(profile), **self._totals()})
        for cache in self.numbers:
            own = profile.caches.get(cache.candidate.id)
            samples += samples_of(self.cache(cache.candidate.id), self._cache(cache, own))
        for input, flow in enumerate(self._join.core.known.flows()):
            pipeline = profile.pipelines[input] if profile.pipelines else None
            each = (
                flow.segment_cost(0, len(flow.step_costs) - 1) / flow.share if flow.share else None
            )
            values: Values = {
                "arrival_share": (flow.share, "prob"),
                "profiled_tuples": (0 if pipeline is None else len(pipeline.tau), "tuples"),
                "pipeline_cost": (None if each is None else self._cost(each), _COST),
            }
            samples += samples_of(self.pipeline(input), values)
        return samples

    def memory_use(self, profile: JoinProfile | None) -> MemoryUse:
        """Of the pool, in a batch. profile: what it told of that."""
        used = {} if profile is None else profile.caches
        return MemoryUse(
            sum(cache.granted for cache in self.numbers),
            {id: counts.n_bytes for id, counts in used.items()},
        )

    def _price(self) -> float | None:
        """The lowest bid that the pool serves; None while memory is left."""
        in_use = [cache for cache in self.numbers if cache.state == "used"]
        if all(cache.granted >= (cache.wanted or 0) for cache in in_use):
            return None
        bids = [cache.bid for cache in self.numbers if cache.granted and cache.bid is not None]
        return min(bids, default=None)

    def _pool(self, profile: JoinProfile) -> Values:
        core, use = self._join.core, self.memory_use(profile)
        problem = core.caches.problem(core.known)
        return {
            "pool_bytes": (core.settings.pool_bytes, "bytes"),
            "granted_bytes": (use.granted_bytes, "bytes"),
            "used_bytes": (use.used_bytes, "bytes"),
            "pool_price": (self._price(), BID),
            "plain_cost": (self._cost(problem.cost({})), _COST),
            "cached_cost": (self._cost(problem.cost(core.caches.in_force)), _COST),
            "element_share": (self._join.share, "prob"),
        }

    def _totals(self) -> Values:
        totals = self._join.core.totals
        return {
            "caching_elements_total": (totals.n_elements, "tuples"),
            "caching_spent_total": (self._cost(totals.spent), "cost"),
            "caching_plain_total": (self._cost(totals.bare), "cost"),
            "caching_best_total": (self._cost(totals.hindsight), "cost"),
        }

    def totals_in(self, state: UnitState) -> CachingTotals:
        """As a killed run published them last."""
        n, *costs = (
            state.total(self.pool, name)
            for name in (
                "caching_elements_total",
                "caching_spent_total",
                "caching_plain_total",
                "caching_best_total",
            )
        )
        return CachingTotals(round(n), *(cost / self._cost(1.0) for cost in costs))

    def _cache(self, numbers: CacheNumbers, counts: CacheCounts | None) -> Values:
        """Of a batch. counts: None of a cache that was not in use."""
        values: dict[str, tuple[float | None, str]] = {
            "cache_state": (CACHE_STATES.index(numbers.state), ""),
            "miss_prob": (numbers.miss_prob, "prob"),
            "granted_bytes": (numbers.granted, "bytes"),
            "wanted_bytes": (numbers.wanted, "bytes"),
            "cache_benefit": (numbers.benefit, _COST),
            "cache_upkeep": (numbers.upkeep, _COST),
            "cache_bid": (numbers.bid, BID),
        }
        own = counts or CacheCounts()
        return values | {
            "hit_prob": (own.hits / own.probes if own.probes else None, "prob"),
            "cache_probes": (own.probes, "probes"),
            "cache_entries": (own.n_entries, "entries"),
            "size_tuples": (own.n_refs, "tuples"),
            "cache_evictions": (own.evictions, "entries"),
            "used_bytes": (own.n_bytes, "bytes"),
        }

    # ------------------------------------------------------------------ matrices

    def matrices(self) -> list[Matrix]:
        """V of each pipeline, and what candidates bid."""
        return [*self._views(), *self._bids()]

    def _views(self) -> list[Matrix]:
        names, views = self._join.shape.names, []
        for pipeline in self._join.core.pipelines:
            order = [names[pipeline.targets[x]] for x in pipeline.view.order]
            kept, counts = pipeline.kept.tolist(), pipeline.view.counts.tolist()
            values = [
                [n if j >= i and kept[i][j] else None for j, n in enumerate(r)]
                for i, r in enumerate(counts)
            ]
            views.append(
                Matrix(
                    name=f"join view of {names[pipeline.input]}: {self._join.name}",
                    kind="join view",
                    rows=tuple(order),
                    columns=tuple(order),
                    values=values,
                    unit="tuples",
                    n=len(pipeline.window) + pipeline.window.n_passed,
                )
            )
        return views

    def _bids(self) -> list[Matrix]:
        numbers, core = self.numbers, self._join.core
        if not numbers:
            return []
        values = [
            [n.benefit, n.upkeep, n.bid, n.wanted, n.granted, int(n.state == "used")]
            for n in numbers
        ]
        excluded: list[list[int]] = [[] for _ in numbers]
        for a, b in combinations(range(len(numbers)), 2):
            if _exclude(numbers[a].candidate, numbers[b].candidate):
                excluded[a].append(b)
                excluded[b].append(a)
        return [
            Matrix(
                name=f"cache bids of {self._join.name}",
                kind="cache bids",
                rows=tuple(self.cache(cache.candidate.id) for cache in numbers),
                columns=(
                    "cache_benefit",
                    "cache_upkeep",
                    "cache_bid",
                    "wanted_bytes",
                    "granted_bytes",
                    "chosen",
                ),
                values=values,
                unit=_COST,
                n=sum(pipeline.n for pipeline in core.known.pipelines),
                row_stats={
                    "name": [self._join.cache_name(cache.candidate) for cache in numbers],
                    "conflicts": excluded,
                    "tiers": [[list(tier) for tier in cache.tiers] for cache in numbers],
                },
            )
        ]


def _miss_prob(estimate: CacheEstimate) -> float | None:
    """By look-ups of all its readers; None: nobody looked."""
    seen = [reader for reader in estimate.readers if reader.n_probes]
    n = sum(reader.lookups for reader in seen)
    return sum(reader.miss_prob * reader.lookups for reader in seen) / n if n else None


def _exclude(candidate: CacheCandidate, other: CacheCandidate) -> bool:
    """Whether some readers of two candidates cannot be used at once."""
    pairs = ([(candidate, a), (other, b)] for a in candidate.readers for b in other.readers)
    return any(True for pair in pairs for _ in conflicts(pair))
