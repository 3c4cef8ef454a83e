"""One join of a network that is tuned while it runs, in words of the run. [B05] chapter 5"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from backend.adaptive.core import Evaluations
from backend.model.knobs import names_in
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.joins.join_tuning import JoinProfile, JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.pipelines import probe_orders
from backend.systems.cores import CoreNews
from backend.systems.joins.decide.candidates import CacheCandidate, candidates
from backend.systems.joins.decide.controller import JoinController
from backend.systems.joins.decide.regret import CachingTotals
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from storage.vocabulary.planlog import LOOK
from storage.vocabulary.records import Decision

#: Batches that say how many elements come to a join.
RECENT_BATCHES: Final = 10


class AdaptiveJoin:
    """One join with its decision core. id: of the operator; name: what people call it; query: the
    first that reads it; attributes: names of those of each equality class; is_one_of_many: others
    have caches, too; n_shards: that it runs in."""

    def __init__(self, plan: NetworkPlan, id: str, evaluations: Evaluations) -> None:
        self.id, self.work = id, join_in(plan, id)
        self.name, self.query, self.n_shards, self.is_one_of_many = id, "", 1, False
        self.share = 1.0  # its elements per element of all consumers of the run's memory
        self._elements: deque[int] = deque(maxlen=RECENT_BATCHES)
        inputs = input_names(plan, id)
        shape = JoinShape.of(self.work, len(inputs), inputs)
        self.attributes = attribute_names(plan, id)
        planned = probe_orders(self.work, shape.n)
        self._settings = JoinSettings()
        self.core = JoinController(shape, self._settings, planned, evaluations)

    @property
    def shape(self) -> JoinShape:
        """What the join is to those who decide on it."""
        return self.core.shape

    @property
    def tuning(self) -> JoinTuning:
        """How it is to be executed."""
        return self.core.tuning

    def state(self) -> Mapping[str, Any]:
        """What is known, as JSON-typed data."""
        return {**self.core.state(), "elements": list(self._elements)}

    def restore(self, state: Mapping[str, Any], totals: CachingTotals) -> None:
        """Go on where ``state`` was taken."""
        self._elements.extend(state["elements"])
        self.core.restore(state, totals)

    @property
    def candidates(self) -> tuple[CacheCandidate, ...]:
        """All that could be cached under the orders in force, forbidden ones among them."""
        if self._settings.caching == "off":
            return ()
        return candidates(self.shape, self.core.orders, self._settings.candidates)

    def cache_name(self, candidate: CacheCandidate) -> str:
        """What people call a cache: the same whatever the orders. Where several joins have some it
        ends with the query."""
        name = self.short_name(candidate)
        return f"{name} of {self.query}" if self.is_one_of_many else name

    def short_name(self, candidate: CacheCandidate) -> str:
        """Its inputs; its key, too, where they may be cached by several."""
        name = candidate.said(self.shape)
        if not self._is_ambiguous(candidate):
            return name
        return f"{name} by {', '.join(self.key_of(candidate))}"

    def key_of(self, candidate: CacheCandidate) -> tuple[str, ...]:
        """The attributes of its key."""
        return tuple(self.attributes[place] for place in candidate.key)

    def _is_ambiguous(self, candidate: CacheCandidate) -> bool:
        """Whether other keys of the same inputs may be cached, under whatever orders."""
        inside = set(candidate.windows)
        touching = [
            members for members in self.shape.classes if members & inside and members - inside
        ]
        return len(touching) > 1

    def call(self, name: str) -> None:
        """What people call it from now on."""
        self.name = name
        self.core.call(name)

    def turn(self, settings: JoinSettings) -> None:
        """Other values of the knobs."""
        self._settings = replace(settings, n_shards=self.n_shards)
        self._adopt_settings()

    def _adopt_settings(self) -> None:
        """The settings as they are under the orders in force: names mean other caches under other
        ones."""
        settings = self._settings
        named = replace(
            settings,
            pinned=self._named(settings.pinned_caches),
            forbidden=self._named(settings.forbidden_caches),
        )
        if named != self.core.settings:
            self.core.turn(named)

    def _named(self, names: str) -> frozenset[str]:
        """Ids of the candidates that a knob names, with their query or without; other names wait
        for theirs."""
        wanted = names_in(names)
        return frozenset(
            candidate.id
            for candidate in (self.candidates if wanted else ())
            if {self.short_name(candidate), f"{self.short_name(candidate)} of {self.query}"}
            & wanted
        )

    def observe(self, batch_id: int, n_tuples: int, report: NetworkReport) -> CoreNews:
        """A batch is over; what it led to."""
        profile = self.profile(report)
        if profile is None:
            return CoreNews()
        self._elements.append(
            sum(pipeline.n_plus + pipeline.n_minus for pipeline in profile.pipelines)
        )
        news = self.core.observe(batch_id, n_tuples, profile)
        self._adopt_settings()
        decisions = map(self._named_after, news.decisions)
        weighed = (e._replace(decision=self._named_after(e.decision)) for e in news.weighed)
        return CoreNews((*news.outcomes, *decisions), False, news.ran, tuple(weighed)).about(
            self.name
        )

    def profile(self, report: NetworkReport) -> JoinProfile | None:
        """What the join tells of a batch; None: it was not tuned then."""
        counts = report.operators.get(self.id)
        profile = None if counts is None else counts.profile
        return profile if isinstance(profile, JoinProfile) else None

    @property
    def n_elements(self) -> float:
        """That come in a batch, lately."""
        return sum(self._elements) / len(self._elements) if self._elements else 0.0

    def _named_after(self, decision: Decision) -> Decision:
        """A decision in words of the run: caches by name, and which join it is about. A look of the
        autopilot says it itself."""
        if decision.kind == LOOK:
            return decision
        detail = {**decision.detail, "join": self.name}
        names = {cache["cache"]: cache["name"] for cache in detail.get("caches", ())}
        old, new = (
            {**plan, "order": [names.get(step, step) for step in plan["order"]]}
            for plan in (decision.old, decision.new)
        )
        about = f"{self.query}: " if self.is_one_of_many else ""
        explanation = about + decision.explanation
        return replace(decision, old=old, new=new, detail=detail, explanation=explanation)


def join_in(plan: NetworkPlan, id: str) -> JoinOp:
    """The work of a join. Raises ValueError: the operator is none."""
    return plan.operator(id).doing(JoinOp)


def attribute_names(plan: NetworkPlan, id: str) -> tuple[str, ...]:
    """Of each equality class the names of its attributes, those of one name once."""
    columns = [[f.name for f in plan.operator(input).fields] for input in plan.operator(id).inputs]
    return tuple(join_in(plan, id).classes(columns))


def input_names(plan: NetworkPlan, id: str) -> tuple[str, ...]:
    """What people call the inputs of a join: the streams or relations they come from; those that
    come from several, or from the same one, are numbered."""
    by_id = {operator.id: operator for operator in plan.operators}

    def read(id: str) -> list[str]:
        operator = by_id[id]
        if operator.work.reads:
            return [operator.work.reads]
        return list(dict.fromkeys(name for input in operator.inputs for name in read(input)))

    names = ["+".join(read(input)) for input in by_id[id].inputs]
    return tuple(
        name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    )
