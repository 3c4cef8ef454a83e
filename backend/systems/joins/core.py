"""The joins of a network that are tuned while it runs: orders of their pipelines, and caches.

Every join of three inputs or more has a decision core of its own ([B05] chapter 5). What it decides
touches no result. Cores stay while their join does, whatever other queries come or go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

from backend.adaptive.core import Evaluations
from backend.operators.network.join_tuning import PAGE_BYTES, JoinTuning
from backend.operators.network.pipelines import probe_orders
from backend.operators.network.plan import JoinOp, NetworkPlan, RelationInput, StreamInput
from backend.operators.network.reports import NetworkReport
from backend.systems.joins.decide.candidates import CacheCandidate, candidates
from backend.systems.joins.decide.controller import JoinController
from backend.systems.joins.decide.memory import divided
from backend.systems.joins.decide.regret import CachingTotals
from backend.systems.joins.decide.settings import Caching, CostsBy, JoinOrder, JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from backend.systems.stream.describing import readers_of
from backend.systems.stream.knobs import StreamKnobs
from storage.vocabulary.records import Decision, DecisionOutcome

#: Joins of fewer inputs have one order and no segment that could be cached.
LEAST_INPUTS: Final = 3
#: Batches that say how many elements come to a join.
RECENT_BATCHES: Final = 10
#: The memory of a run is shared anew when the share of a join in the elements moved by more.
_MOVED: Final = 0.2


class JoinNews(NamedTuple):
    """What a batch led to. is_new: other tunings are in force from the next batch on."""

    found: tuple[Decision | DecisionOutcome, ...] = ()
    is_new: bool = False


class AdaptiveJoin:
    """One join with its decision core. id: of the operator; name: what people call it; query: the
    first that reads it; attributes: names of those of each equality class; is_one_of_many: others
    have caches, too; n_shards: that it runs in."""

    def __init__(
        self,
        plan: NetworkPlan,
        id: str,
        name: str,
        knobs: StreamKnobs,
        evaluations: Evaluations,
        is_one_of_many: bool,
    ) -> None:
        self.id, self.name, self.work = id, name, join_in(plan, id)
        self.query, self.n_shards = "", 1
        self._elements: deque[int] = deque(maxlen=RECENT_BATCHES)
        self.is_one_of_many, self._knobs = is_one_of_many, knobs
        inputs = input_names(plan, id)
        shape = JoinShape.of(self.work, len(inputs), inputs)
        self.attributes = attribute_names(plan, id)
        planned = probe_orders(self.work, shape.n)
        self.core = JoinController(shape, JoinSettings(), planned, evaluations)
        self.turn(knobs)

    @property
    def shape(self) -> JoinShape:
        """What the join is to those who decide on it."""
        return self.core.shape

    @property
    def candidates(self) -> tuple[CacheCandidate, ...]:
        """All that could be cached under the orders in force, forbidden ones among them."""
        knobs = self._knobs
        if knobs.caching == "off":
            return ()
        return candidates(self.shape, self.core.orders, knobs.candidates)

    def cache_name(self, candidate: CacheCandidate) -> str:
        """What people call a cache: the same whatever the orders. Where several joins have some it
        ends with the query."""
        said = self.short_name(candidate)
        return f"{said} of {self.query}" if self.is_one_of_many else said

    def short_name(self, candidate: CacheCandidate) -> str:
        """Its inputs; its key, too, where they may be cached by several."""
        said = candidate.said(self.shape)
        if not self._is_ambiguous(candidate):
            return said
        return f"{said} by {', '.join(self.key_of(candidate))}"

    def key_of(self, candidate: CacheCandidate) -> tuple[str, ...]:
        """The attributes of its key."""
        return tuple(self.attributes[place] for place in candidate.key)

    def _is_ambiguous(self, candidate: CacheCandidate) -> bool:
        """Whether other keys of the same inputs may be cached, under whatever orders."""
        inside = set(candidate.windows)
        touching = [one for one in self.shape.classes if one & inside and one - inside]
        return len(touching) > 1

    def turn(self, knobs: StreamKnobs) -> None:
        """Other values of the knobs."""
        self._knobs = knobs
        self._set(self._settings(knobs))

    def _set(self, settings: JoinSettings) -> None:
        if settings != self.core.settings:
            self.core.turn(settings)

    def _settings(self, knobs: StreamKnobs) -> JoinSettings:
        found = JoinSettings(
            join_order=cast(JoinOrder, knobs.join_order),
            caching=cast(Caching, knobs.caching),
            pool_bytes=knobs.pool_bytes,
            interval_tuples=knobs.interval_tuples,
            window_observations=knobs.window_observations,
            candidates=knobs.candidates,
            profile_prob=knobs.join_profile_prob,
            cost_by=cast(CostsBy, knobs.join_costs),
            ways=knobs.cache_ways,
            bitmap_alpha=knobs.bitmap_alpha,
            two_phase=knobs.two_phase,
            n_shards=self.n_shards,
            knob_version=knobs.version,
        )
        return replace(
            found,
            pinned=self._named(knobs.pinned_caches),
            forbidden=self._named(knobs.forbidden_caches),
        )

    def _named(self, names: str) -> frozenset[str]:
        """Ids of the candidates that a knob names, with their query or without; other names wait
        for theirs."""
        wanted = named_caches(names)
        return frozenset(
            one.id
            for one in (self.candidates if wanted else ())
            if {self.short_name(one), f"{self.short_name(one)} of {self.query}"} & wanted
        )

    def observe(
        self, batch_id: int, n_tuples: int, report: NetworkReport
    ) -> tuple[Decision | DecisionOutcome, ...]:
        """A batch is over; what it led to."""
        counts = report.operators.get(self.id)
        if counts is None or counts.join is None:
            return ()
        self._elements.append(sum(one.n_plus + one.n_minus for one in counts.join.pipelines))
        told = self.core.observe(batch_id, n_tuples, counts.join)
        self._set(self._settings(self._knobs))  # names may mean others under other orders
        return (*told.outcomes, *(self._named_after(one) for one in told.decisions))

    @property
    def n_elements(self) -> float:
        """That come in a batch, lately."""
        return sum(self._elements) / len(self._elements) if self._elements else 0.0

    def _named_after(self, decision: Decision) -> Decision:
        """A decision in words of the run: caches by name, and which join it is about."""
        detail = {**decision.detail, "join": self.name}
        names = {one["cache"]: one["name"] for one in detail.get("caches", ())}
        old, new = (
            {**plan, "order": [names.get(one, one) for one in plan["order"]]}
            for plan in (decision.old, decision.new)
        )
        about = f"{self.query}: " if self.is_one_of_many else ""
        explanation = about + decision.explanation
        return replace(decision, old=old, new=new, detail=detail, explanation=explanation)


class AdaptiveJoins(Mapping[str, AdaptiveJoin]):
    """All tuned joins of a network, by operator."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._by_id: dict[str, AdaptiveJoin] = {}
        self._run_bytes = 0
        self._shares: Mapping[str, float] = {}

    def __getitem__(self, id: str) -> AdaptiveJoin:
        return self._by_id[id]

    def __iter__(self) -> Any:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def lay_out(self, plan: NetworkPlan, names: Mapping[str, str], knobs: StreamKnobs) -> None:
        """Another plan: joins that are in it still go on as they are. names: of operators."""
        before, self._by_id = self._by_id, {}
        readers = readers_of(plan)
        ids = [
            one.id
            for one in plan.operators
            if isinstance(one.work, JoinOp) and len(one.inputs) >= LEAST_INPUTS
        ]
        for id in ids:
            join, work = before.get(id), join_in(plan, id)
            if join is None or join.work != work:
                join = AdaptiveJoin(plan, id, names[id], knobs, self._evaluations, len(ids) > 1)
            join.name, join.is_one_of_many = names[id], len(ids) > 1
            join.query = next(iter(readers[id]), "")
            join.n_shards = knobs.shards if keys_of(plan, id) else 1
            join.turn(knobs)
            self._by_id[id] = join
        self._run_bytes = knobs.run_pool_bytes
        self._divide()

    def _divide(self) -> None:
        """Share the memory of the run among the joins."""
        pages: Mapping[str, int | None] = dict.fromkeys(self)
        if self._run_bytes:
            shares = self._steady_shares()
            demands = {id: one.core.caches.pages.demand(shares[id]) for id, one in self.items()}
            pages = divided(self._run_bytes // PAGE_BYTES, demands)
        for id, one in self.items():
            one.core.allow(pages[id])

    def _steady_shares(self) -> Mapping[str, float]:
        """The shares of joins, as they were while none has moved much: pages are not to go to and
        fro with every batch."""
        now, before = {id: self.share(id) for id in self}, self._shares
        moved = (abs(n - before[id]) > _MOVED * before[id] for id, n in now.items() if id in before)
        if now.keys() != before.keys() or any(moved):
            self._shares = now
        return self._shares

    def share(self, id: str) -> float:
        """Elements of a join per element of all joins; equal parts before any came."""
        n = sum(one.n_elements for one in self.values())
        return self[id].n_elements / n if n else 1 / len(self)

    @property
    def tunings(self) -> dict[str, JoinTuning]:
        """How each is to be executed."""
        return {id: one.core.tuning for id, one in self._by_id.items()}

    def observe(self, batch_id: int, n_tuples: int, report: NetworkReport) -> JoinNews:
        """A batch is over."""
        before = self.tunings
        told = [one.observe(batch_id, n_tuples, report) for one in self._by_id.values()]
        self._divide()
        return JoinNews(tuple(record for one in told for record in one), self.tunings != before)

    def state(self) -> dict[str, Any]:
        """What a run that goes on needs, as JSON-typed data."""
        return {id: one.core.state() for id, one in self._by_id.items()}

    def restore(self, state: Mapping[str, Any], totals: Mapping[str, CachingTotals]) -> None:
        """Go on as ``state`` was taken, joins that are there still. totals: by join."""
        for id, told in state.items():
            if id in self._by_id:
                self._by_id[id].core.restore(told, totals[id])
        self._divide()


def named_caches(names: str) -> frozenset[str]:
    """The names in the value of a knob, parted by semicolons."""
    return frozenset(name.strip() for name in names.split(";") if name.strip())


def keys_of(plan: NetworkPlan, id: str) -> Mapping[str, int]:
    """The columns that part the shards of an operator; none: it runs in one."""
    return next((group.keys for group in plan.groups if id in group.operators), {})


def join_in(plan: NetworkPlan, id: str) -> JoinOp:
    """The work of a join. Raises ValueError: the operator is none."""
    work = plan.operator(id).work
    if not isinstance(work, JoinOp):
        raise ValueError(f"{id} is no join")
    return work


def attribute_names(plan: NetworkPlan, id: str) -> tuple[str, ...]:
    """Of each equality class the names of its attributes, those of one name once."""
    columns = [[f.name for f in plan.operator(input).fields] for input in plan.operator(id).inputs]
    return tuple(
        " = ".join(dict.fromkeys(columns[input][place] for input, place in one))
        for one in join_in(plan, id).equal
    )


def input_names(plan: NetworkPlan, id: str) -> tuple[str, ...]:
    """What people call the inputs of a join: the streams or relations they come from; those that
    come from several, or from the same one, are numbered."""
    by_id = {one.id: one for one in plan.operators}

    def read(id: str) -> list[str]:
        one = by_id[id]
        if isinstance(one.work, StreamInput):
            return [one.work.stream]
        if isinstance(one.work, RelationInput):
            return [one.work.relation]
        return list(dict.fromkeys(name for input in one.inputs for name in read(input)))

    told = ["+".join(read(input)) for input in by_id[id].inputs]
    return tuple(
        name if told.count(name) == 1 else f"{name} {told[: place + 1].count(name)}"
        for place, name in enumerate(told)
    )
