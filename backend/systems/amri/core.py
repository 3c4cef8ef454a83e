"""The eddies of a network as an operator core: routes, and an index for each state. [W13]"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from backend.adaptive.core import Evaluations
from backend.adaptive.planlog.pilots import Pilots
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.eddy.tuning import EddyProfile, EddyTuning, StateTuning
from backend.operators.network.kinds.eddy import EddyOp
from backend.systems.amri import weighing
from backend.systems.amri.eddy import AdaptedEddy
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.planning import planned
from backend.systems.amri.published import PublishedEddy
from backend.systems.amri.routing import Order
from backend.systems.amri.view import EddyView
from backend.systems.contract import Refusal, Refused
from backend.systems.cores import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    NetworkRan,
    OperatorCore,
)
from backend.systems.joined import JoinsByOperator, keys_of
from storage.vocabulary.amri import AMRI as VOCABULARY
from storage.vocabulary.amri_costs import Bits
from storage.vocabulary.memory import Bid, Grant, MemoryUse
from storage.vocabulary.records import Sample

_PIN: Final = re.compile(r"\s*([^:;]+?)\s*:\s*(\d+(?:[ ,]+\d+)*)\s*")


class AmriCore(JoinsByOperator[AdaptedEddy, PublishedEddy]):
    """All eddies of a network."""

    state_name = "amri"

    def check(self, network: LaidOutNetwork, settings: KnobSettings) -> None:
        """Raises Refused for an epsilon that is not below theta, and for pins of no state or
        route."""
        knobs = AmriKnobs.of(settings)
        if not knobs.epsilon < knobs.theta:
            raise Refused(
                f"epsilon = {knobs.epsilon:g} and theta = {knobs.theta:g} refused: allowed is an "
                "epsilon below theta"
            )
        ids = eddies_in(network.plan)
        views = [EddyView.of(network.plan, id, network.names) for id in ids]
        check_pins(knobs, views)
        check_routes(knobs, views)

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan or other knobs: eddies that are in it still keep what they know."""
        knobs, shown = AmriKnobs.of(settings), self._tunings
        before, self._by_id, self._network = self._by_id, {}, network
        readers, ids = network.plan.readers(), eddies_in(network.plan)
        for id in ids:
            view = EddyView.of(network.plan, id, network.names)
            eddy = before.get(id)
            if eddy is None or eddy.view != view:
                eddy = AdaptedEddy(view, self._evaluations)
            eddy.name, eddy.query = network.names[id], next(iter(readers[id]), "")
            eddy.is_one_of_many = len(ids) > 1
            eddy.n_shards = settings.whole("shards") if keys_of(network.plan, id) else 1
            eddy.turn(knobs, pins_of(knobs, view), pinned_routes_of(knobs, view))
            self._by_id[id] = eddy
        self._shown_now = None
        changed = [id for id, tuning in self._tunings.items() if shown.get(id, tuning) != tuning]
        return "the eddies are tuned otherwise" if changed else ""

    def observe(self, ran: NetworkRan) -> CoreNews:
        before, news = self._tunings, list[CoreNews]()
        for id, eddy in self.items():
            counts, access = ran.report.operators.get(id), [s.in_force for s in eddy.states]
            if counts is not None and isinstance(counts.profile, EddyProfile):
                records = eddy.observe(ran.batch_id, counts.profile)
                news.append(weighing.news(eddy, records, access))
        self._shown_now = None
        return CoreNews.of(news, self._tunings != before)

    def bids(self) -> Mapping[str, Bid]:
        return {shown.id: self[shown.id].bid(shown.node, shown.indexes) for shown in self._shown}

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        before = self._tunings
        for id, eddy in self.items():
            eddy.grant(grants[id].n_pages)
        return self._tunings != before

    def pilots(self) -> Pilots:
        return {own.schema.subject: own for eddy in self.values() for own in eddy.pilots}

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        return {id: eddy.memory_use for id, eddy in self.items()}

    def _show(self, network: LaidOutNetwork, id: str) -> PublishedEddy:
        return PublishedEddy(network, id, self[id])

    def samples(self, report: NetworkReport) -> list[Sample]:
        return [sample for eddy in self._shown for sample in eddy.samples()]


class AmriCores:
    """Routes, and indexes of states."""

    name = "amri"
    title = "AMRI"
    vocabulary = VOCABULARY
    knobs: tuple[KnobSpec, ...] = AmriKnobs.specs()

    def planned(self, tree: OperatorTree) -> OperatorTree | Refusal:
        return planned(tree)

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        eddies = eddies_in(plan)
        if not eddies:
            return Refusal("it has no join of equal attributes, so no route and no index to choose")
        return frozenset(eddies)

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return AmriCore(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> list[Mapping[str, Tuning]]:
        """Small partitions with bits and a hash index; then others, so that partitions migrate."""
        tunings = {}
        for id in eddies_in(plan):
            view = EddyView.of(plan, id, {})
            states = tuple(
                StateTuning((4,) * len(names), (1,), 100, tuple(range(100)))
                for names in view.attributes
            )
            tunings[id] = EddyTuning(states=states, migration_us=10_000_000)
        other = {
            id: replace(
                tuning,
                states=tuple(
                    replace(state, bits=(2,) * len(state.bits or ())) for state in tuning.states
                ),
            )
            for id, tuning in tunings.items()
        }
        return [tunings, other]


def eddies_in(plan: NetworkPlan) -> list[str]:
    """The eddies of a plan."""
    return [planned.id for planned, _ in plan.working(EddyOp)]


def _pins(knobs: AmriKnobs) -> Iterator[tuple[str, str, Bits]]:
    """Of each pin its text, state and bits; '' and () where it cannot be read."""
    for part in _parts(knobs.pinned_bits):
        match = _PIN.fullmatch(part)
        bits = tuple(map(int, re.split(r"[ ,]+", match[2]))) if match else ()
        yield part, match[1] if match else "", bits


def pins_of(knobs: AmriKnobs, view: EddyView) -> dict[str, Bits]:
    """The pinned bits that fit states of an eddy, by state."""
    n_attributes = dict(zip(view.names, map(len, view.attributes), strict=True))
    return {state: bits for _, state, bits in _pins(knobs) if n_attributes.get(state) == len(bits)}


def check_pins(knobs: AmriKnobs, views: Sequence[EddyView]) -> None:
    """Raises Refused for a pin that fits no state, or has more bits than there are."""
    for text, state, bits in _pins(knobs):
        if not any(state in pins_of(knobs, view) for view in views):
            states = [of for view in views for of in zip(view.names, view.attributes, strict=True)]
            each = "; ".join(f"{name}: bits of {', '.join(of)}" for name, of in states)
            raise Refused(f"pinned_bits = {text} refused: allowed {each}")
        if sum(bits) > knobs.index_bits:
            raise Refused(
                f"pinned_bits = {text} refused: allowed at most index_bits = {knobs.index_bits}"
            )


def _routes(knobs: AmriKnobs, view: EddyView) -> Iterator[tuple[str, int, Order]]:
    """The pinned routes that an eddy has: text, origin and order of each."""
    for text in _parts(knobs.pinned_routes):
        names = [name.strip() for name in re.split("[>→]", text)]
        if set(names) <= set(view.names):
            origin, *order = map(view.names.index, names)
            if tuple(order) in view.graph.orders(origin):
                yield text, origin, tuple(order)


def pinned_routes_of(knobs: AmriKnobs, view: EddyView) -> dict[int, Order]:
    """The pinned routes that an eddy has, by origin."""
    return {origin: order for _, origin, order in _routes(knobs, view)}


def check_routes(knobs: AmriKnobs, views: Sequence[EddyView]) -> None:
    """Raises Refused for a pinned route that no eddy has, and for two from one input."""
    known = {text for view in views for text, *_ in _routes(knobs, view)}
    for text in _parts(knobs.pinned_routes):
        if text not in known:
            such = "; ".join(view.route((0, *view.graph.orders(0)[0])) for view in views)
            raise Refused(
                f"pinned_routes = {text} refused: allowed are all inputs of a join, each joined to "
                f"one before it, such as {such}"
            )
    for view in views:
        origins = [origin for _, origin, _ in _routes(knobs, view)]
        twice = [view.names[origin] for origin in origins if origins.count(origin) > 1]
        if twice:
            raise Refused(
                f"pinned_routes = {knobs.pinned_routes} refused: allowed is one route from "
                f"{twice[0]}"
            )


def _parts(pins: str) -> Iterator[str]:
    return filter(None, map(str.strip, pins.split(";")))


AMRI: Final[CoreKind] = AmriCores()
