"""Joins under k-constraints as introspection shows them: constraints, synopses, the k ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from backend.adaptive.evidence import finite
from backend.model.ids import entity_id
from backend.operators.network.kmon.tuning import (
    DISTANCE_BINS,
    MOST_TOLD,
    UNKNOWN_K,
    ComponentCounts,
    ConstraintProfile,
    bin_end,
)
from backend.systems.contract import UnitState
from backend.systems.cores import LaidOutNetwork
from backend.systems.kmon.candidates import ConstraintCandidate
from backend.systems.kmon.choosing import margin
from backend.systems.kmon.join import AdaptedKMon
from backend.systems.kmon.kept import KeptReasons
from backend.systems.kmon.totals import JoinTotals
from backend.systems.publishing import Values, samples_of
from storage.vocabulary.graph import PlanEdge, PlanGraph, PlanNode
from storage.vocabulary.kinds import EntityKind
from storage.vocabulary.kmon import K_STATES, KMON
from storage.vocabulary.records import Entity, Json, Matrix, Sample

#: The label of the last bin, which has no end.
ENDLESS: Final = "∞"
LEDGER: Final = (
    "estimate",
    "low",
    "high",
    "used",
    "kept",
    "safe",
    "saved_bytes",
    "saved_tuples",
    "lost",
    "returned",
    "cost_ns",
)


#: Columns of the tuples that are kept.
KEPT: Final = ("number", "since_ticks", "waited", "goes_at")


class PublishedKMon:
    """A join of a network with the ids of what belongs to it, at one moment."""

    def __init__(self, network: LaidOutNetwork, id: str, join: AdaptedKMon) -> None:
        self._unit_id, self.id, self._join = network.unit_id, id, join
        self._node = network.node(id)

    def constraint(self, key: str) -> str:
        """A constraint, by its key."""
        return entity_id(self._unit_id, "constraint", f"{self.id} {key}")

    def synopsis(self, input: int) -> str:
        """What is kept of an input."""
        return entity_id(self._unit_id, "components", f"{self.id}.{input}")

    def name(self, candidate: ConstraintCandidate) -> str:
        """What people call a constraint; where several joins have some, with its query."""
        join = self._join
        return f"{candidate.name} of {join.query}" if join.is_one_of_many else candidate.name

    # ------------------------------------------------------------------ the plan

    def entities(self) -> list[Entity]:
        """The constraints and what is kept of each input."""
        join = self._join
        entities = []
        for key, candidate in join.view.candidates.items():
            facts: dict[str, Json] = {
                "node": self._node,
                "type": candidate.id.type,
                "parent": candidate.parent,
                "child": candidate.child,
                "attribute": candidate.attribute,
                "short_name": candidate.name,
                "port": candidate.input,
                "declared_k": join.settings.declared.get(key),
                "joins": [self._edge_words(edge) for edge in candidate.edges],
            }
            id, words = self.constraint(key), self.name(candidate)
            entities.append(self._entity(id, "monitor", "constraint", words, facts))
        for input, name in enumerate(join.view.names):
            facts = {"node": self._node, "input": name, "port": input}
            id, words = self.synopsis(input), self._kept(input)
            entities.append(self._entity(id, "synopsis", "components", words, facts))
        return entities

    def _entity(
        self, id: str, kind: EntityKind, role: str, name: str, facts: Mapping[str, Json]
    ) -> Entity:
        return Entity(id, kind, name, dict(facts), unit_id=self._unit_id, role=role)

    def _edge_words(self, edge: int) -> str:
        view = self._join.view
        of = view.work.edges[edge]
        return f"{view.names[of.parent]} {'↔' if of.one_one else '→'} {view.names[of.child]}"

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        """The plan with the constraints in use, and their k, at the join."""
        view, seen = self._join.view, self._join.seen.constraints
        notes = [
            {
                "name": candidate.name,
                "id": self.constraint(key),
                "joins": [self._edge_words(edge) for edge in candidate.edges],
                "k": _finite(seen[key].k),
            }
            for key, candidate in view.candidates.items()
            if key in self._join.used
        ]
        facts: dict[str, Json] = {"constraints": notes}
        if self._join.settings.unmet:
            facts["declared_in_vain"] = list(self._join.settings.unmet)
        nodes = [
            PlanNode(n.id, n.role, n.name, {**n.properties, **facts}) if n.id == self._node else n
            for n in graph.nodes
        ]
        inputs = dict(enumerate(view.names))
        nodes += [PlanNode(self.synopsis(i), "components", self._kept(i)) for i in inputs]
        edges = [PlanEdge(self.synopsis(input), self._node, "", input) for input in inputs]
        return PlanGraph(tuple(nodes), (*graph.edges, *edges))

    def _kept(self, input: int) -> str:
        """What people call what is kept of an input."""
        join = self._join
        return join.view.names[input] + f" in {join.query}" * join.is_one_of_many

    # ------------------------------------------------------------------ numbers

    def samples(self) -> list[Sample]:
        """Of the last batch."""
        join = self._join
        samples = samples_of(self._node, self._of_join())
        for input, component in enumerate(join.profile.components):
            samples += samples_of(self.synopsis(input), _of_component(component))
            samples.append(Sample(self.synopsis(input), "state_bytes", component.n_bytes, "bytes"))
        for key, candidate in join.view.candidates.items():
            samples += self._of_constraint(key, candidate)
        return samples

    def _of_join(self) -> Values:
        join, profile = self._join, self._join.profile
        counts = profile.components
        values: dict[str, float | None] = {
            "held_tuples": sum(component.n_tuples for component in counts),
            "held_bytes": sum(component.n_bytes for component in counts),
            "plain_tuples": sum(component.plain for component in counts),
            "plain_bytes": sum(component.plain * component.row_bytes for component in counts),
            "joined_results_total": join.totals.n_results,
            "lost_results_total": join.totals.n_lost,
            "repeated_keys_total": join.totals.n_repeated,
            "time_weight": join.pool.time_weight,
            "monitor_share": (
                profile.monitor_ns / profile.processor_ns if profile.processor_ns else None
            ),
        }
        return _with_units(values)

    def totals_in(self, state: UnitState) -> JoinTotals:
        """As a killed run published them last."""
        names = ("joined_results_total", "lost_results_total", "repeated_keys_total")
        return JoinTotals(*(state.total(self._node, name) for name in names))

    def _profile(self, candidate: ConstraintCandidate) -> ConstraintProfile:
        return self._join.profile.constraints.get(candidate.id) or ConstraintProfile()

    def _saved_bytes(self, candidate: ConstraintCandidate) -> float:
        join = self._join
        tuples = self._profile(candidate).saved_tuples
        return join.seen.saved_bytes(candidate, tuples, join.settings.loss)

    def state_of(self, key: str) -> str:
        """What is made of a constraint."""
        join, profile = self._join, self._profile(self._join.view.candidates[key])
        standing = join.standings[key]
        is_out = not join.settings.may_use(key, standing.refuted) or standing.is_away(join.arrival)
        if standing.is_used and join.settings.is_within(profile.k):
            return "used"
        if is_out and not standing.is_used:
            return "unused"
        if profile.k == UNKNOWN_K and profile.estimate == UNKNOWN_K:
            return "unknown"
        is_far = profile.k != UNKNOWN_K and not join.settings.is_within(profile.k)
        return "unused" if is_far else "watched"

    def _of_constraint(self, key: str, candidate: ConstraintCandidate) -> list[Sample]:
        profile, state = self._profile(candidate), self.state_of(key)
        values: dict[str, float | None] = {
            "k_state": K_STATES.index(state),
            "k_used_tuples": profile.k if state == "used" else None,
            "k_estimate_tuples": _finite(profile.estimate),
            "k_low_tuples": _finite(profile.low),
            "k_high_tuples": _finite(profile.high),
            "k_kept_tuples": _finite(profile.kept),
            "k_time_ticks": _finite(profile.ticks) if state == "used" else None,
            "k_largest_tuples": profile.largest if profile.n_observed else None,
            "k_observations": profile.n_observed,
            "k_window_observations": profile.n_window,
            "k_violations": profile.n_violations,
            "k_evicted_tuples": profile.n_evicted,
            "k_saved_tuples": profile.saved_tuples,
            "k_saved_bytes": self._saved_bytes(candidate),
            **self._worth(key),
            "k_lost_tuples": profile.n_lost,
            "k_returned_tuples": profile.n_returned,
        }
        rare = {name for name, property in KMON.properties.items() if property.absent_is_zero}
        shown = {name: value for name, value in values.items() if value or name not in rare}
        return samples_of(self.constraint(key), _with_units(shown))

    def _worth(self, key: str) -> dict[str, float | None]:
        """What it bids for memory: what it would save more, against what it costs."""
        chosen = self._join.chosen
        if chosen is None or key not in chosen.problem.costs:
            return {"k_worth_bytes": None, "k_cost_bytes": None}
        worth = margin(chosen.problem, chosen.after, key)
        return {"k_worth_bytes": worth.saved, "k_cost_bytes": worth.cost}

    # ------------------------------------------------------------------ matrices

    def matrices(self) -> list[Matrix]:
        """Distances of the last batch, binned and one by one, and the k ledger."""
        if not self._join.view.candidates:
            return []
        return [self._distances(), self._seen(), self._ledger(), self._kept_tuples()]

    def _matrix(
        self, kind: str, columns: tuple[str, ...], values: list[list[Any]], unit: str, n: int
    ) -> Matrix:
        candidates = self._join.view.candidates
        rows = tuple(self.constraint(key) for key in candidates)
        names = {"name": [self.name(candidate) for candidate in candidates.values()]}
        title = f"{kind} of {self._join.name}"
        return Matrix(title, kind, rows, columns, values, unit, n, row_stats=names)

    def _distances(self) -> Matrix:
        profiles = [self._profile(candidate) for candidate in self._join.view.candidates.values()]
        last = max(
            (int(profile.bins.nonzero()[0].max(initial=0)) for profile in profiles), default=0
        )
        ends = [str(bin_end(place)) for place in range(DISTANCE_BINS - 1)]
        columns = tuple([*ends, ENDLESS][: last + 1])
        values = [[int(n) for n in profile.bins[: last + 1]] for profile in profiles]
        n = sum(profile.n_observed for profile in profiles)
        return self._matrix("k distances", columns, values, "observations", n)

    def _seen(self) -> Matrix:
        profiles = [self._profile(candidate) for candidate in self._join.view.candidates.values()]
        values = [
            [seen.distance for seen in profile.seen[-MOST_TOLD:]]
            + [None] * (MOST_TOLD - len(profile.seen))
            for profile in profiles
        ]
        n = sum(len(profile.seen) for profile in profiles)
        return self._matrix("k seen", tuple(map(str, range(MOST_TOLD))), values, "tuples", n)

    def _ledger(self) -> Matrix:
        candidates = self._join.view.candidates.items()
        values = [self._ledger_row(key, candidate) for key, candidate in candidates]
        n = max((self._profile(candidate).n_window for _, candidate in candidates), default=0)
        return self._matrix("k ledger", LEDGER, values, "", n)

    def _kept_tuples(self) -> Matrix:
        """Some of the tuples that are held, and why."""
        join = self._join
        profiles = {
            key: self._profile(candidate) for key, candidate in join.view.candidates.items()
        }
        used = {key for key in profiles if self.state_of(key) == "used"}
        kept, reasons = join.profile.kept, KeptReasons(join.view, used, profiles)
        why = [reasons.of(held) for held in kept]
        stats = {
            "synopsis": [self.synopsis(held.input) for held in kept],
            "state": [held.state for held in kept],
            "constraint": [
                self.constraint(reason.constraint) if reason.constraint else "" for reason in why
            ],
            "why": [reason.words for reason in why],
        }
        rows = tuple(f"{join.view.names[held.input]} {held.number}" for held in kept)
        values = [
            [held.number, held.tau, _finite(reason.waited), _finite(reason.goes_at)]
            for held, reason in zip(kept, why, strict=True)
        ]
        title = f"k kept of {join.name}"
        return Matrix(title, "k kept", rows, KEPT, values, "", len(kept), row_stats=stats)

    def _ledger_row(self, key: str, candidate: ConstraintCandidate) -> list[Any]:
        profile, join = self._profile(candidate), self._join
        share = join.seen.constraints[key].time_share
        return [
            _finite(profile.estimate),
            _finite(profile.low),
            _finite(profile.high),
            profile.k if self.state_of(key) == "used" else None,
            _finite(profile.kept),
            _finite(join.seen.constraints[key].safe),
            self._saved_bytes(candidate),
            profile.saved_tuples,
            profile.n_lost,
            profile.n_returned,
            finite(share * join.profile.processor_ns),
        ]


def _of_component(counts: ComponentCounts) -> Values:
    return _with_units(
        {
            "yes_tuples": counts.yes,
            "no_tuples": counts.no,
            "unknown_tuples": counts.unknown,
            "spilled_tuples": counts.spilled,
            "plain_tuples": counts.plain,
        }
    )


def _with_units(values: Mapping[str, float | None]) -> Values:
    return {name: (value, KMON.properties[name].unit) for name, value in values.items()}


def _finite(k: int) -> int | None:
    return None if k == UNKNOWN_K else k
