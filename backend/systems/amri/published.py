"""Eddies as introspection shows them: routers, states, their indexes, what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backend.model.ids import entity_id
from backend.operators.network.eddy.tuning import PartitionReport
from backend.operators.network.eddy.words import BUCKETS, CODES_READ, COMPARED, ELEMENTS
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.systems.amri.eddy import AdaptedEddy
from backend.systems.amri.routing import NOT_TAKEN, flows, predicted_frequencies, route_work
from backend.systems.amri.states import StateIndex
from backend.systems.amri.telling import shortage
from backend.systems.contract import UnitState
from backend.systems.cores import LaidOutNetwork
from backend.systems.publishing import Values, samples_of
from storage.vocabulary.amri import AMRI, PATTERN_COLUMNS
from storage.vocabulary.amri_counts import NO_COUNTS
from storage.vocabulary.amri_patterns import Pattern
from storage.vocabulary.graph import PlanEdge, PlanGraph, PlanNode
from storage.vocabulary.records import Entity, Json, Matrix, Sample


class PublishedEddy:
    """An eddy of a network with the ids of what belongs to it, at one moment."""

    def __init__(self, network: LaidOutNetwork, id: str, eddy: AdaptedEddy) -> None:
        self._unit_id, self.id, self._eddy = network.unit_id, id, eddy
        self.node = network.node(id)

    def state(self, port: int) -> str:
        """The state of an input."""
        return entity_id(self._unit_id, "stem", f"{self.id}.{port}")

    def index(self, port: int) -> str:
        """The index of a state."""
        return entity_id(self._unit_id, "bit index", f"{self.id}.{port}")

    @property
    def indexes(self) -> dict[str, str]:
        """The indexes by name of their input."""
        return {name: self.index(port) for port, name in enumerate(self._eddy.view.names)}

    def _name(self, port: int) -> str:
        eddy = self._eddy
        return eddy.view.names[port] + f" in {eddy.query}" * eddy.is_one_of_many

    def totals_in(self, state: UnitState) -> None:
        """It has none."""

    # ------------------------------------------------------------------ the plan

    def entities(self) -> list[Entity]:
        """The states and their indexes."""
        entities = []
        for port, names in enumerate(self._eddy.view.attributes):
            facts: dict[str, Json] = {
                "node": self.node,
                "port": port,
                "input": self._eddy.view.names[port],
                "attributes": list(names),
            }
            for kind, role, id in (
                ("synopsis", "stem", self.state(port)),
                ("index", "bit index", self.index(port)),
            ):
                entities.append(
                    Entity(id, kind, self._name(port), facts, unit_id=self._unit_id, role=role)  # type: ignore[arg-type]
                )
        return entities

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        """The plan with the states at the eddy, and the routes in force."""
        view, eddy = self._eddy.view, self._eddy
        facts: dict[str, Json] = {
            "routes": [
                {"origin": view.names[port], "route": view.route(order)}
                for port, order in enumerate(eddy.orders)
            ]
        }
        nodes = [
            PlanNode(n.id, n.role, n.name, {**n.properties, **facts}) if n.id == self.node else n
            for n in graph.nodes
        ]
        nodes += [
            PlanNode(self.state(port), "stem", self._name(port), self._bits(port))
            for port in range(view.n)
        ]
        edges = [PlanEdge(self.state(port), self.node, "", port) for port in range(view.n)]
        return PlanGraph(tuple(nodes), (*graph.edges, *edges))

    def _bits(self, port: int) -> dict[str, Json]:
        state, view = self._eddy.states[port], self._eddy.view
        names = [view.pattern(port, module) for module in state.tuning.modules]
        facts: dict[str, Json] = {
            "attributes": list(view.attributes[port]),
            "bits": list(state.bits),
        }
        facts |= {"hash_indexes": names} if names else {}
        short_of = shortage(state)
        return facts | ({"short_of": short_of} if short_of else {})

    # ------------------------------------------------------------------ numbers

    def samples(self) -> list[Sample]:
        """Of the last batch."""
        eddy = self._eddy
        if eddy.profile is None:
            return []
        every = eddy.profile.requests.sum(axis=(0, 1)).tolist()
        values: dict[str, float | None] = {
            "search_requests": every[PROBES],
            "compared_per_request": _ratio(every[SCANNED], every[PROBES]),
            "matched_per_request": _ratio(every[MATCHES], every[PROBES]),
            "exploration_share": self._explored(),
        }
        samples = samples_of(self.node, _with_units(values))
        for port, state in enumerate(eddy.states):
            samples += samples_of(self.state(port), self._of_state(state))
            samples += samples_of(self.index(port), _of_index(state))
        return samples

    def _explored(self) -> float | None:
        """Of the elements of the last batch, the share that took another route."""
        n = [[row[ELEMENTS] for row in taken.values()] for taken in self._eddy.taken]
        return _ratio(sum(sum(of[1:]) for of in n), sum(map(sum, n)))

    def _of_state(self, state: StateIndex) -> Values:
        last, regret = state.last, state.ledger.totals if state.ledger else None
        matched = sum(row[MATCHES] for row in last.by_pattern.values())
        buckets = sum(row[BUCKETS] for row in last.by_pattern.values())
        entries = None if state.assessor is None else len(state.assessor.report().entries)
        values: dict[str, float | None] = {
            "search_requests": last.requests,
            "compared_per_request": _ratio(last.compared, last.requests),
            "matched_per_request": _ratio(matched, last.requests),
            "wasted_comparisons": last.compared - matched,
            "buckets_per_request": _ratio(buckets, last.requests),
            "state_tuples": state.report.n_tuples,
            "assessed_requests": None if state.assessor is None else state.assessor.total,
            "assessment_entries": entries,
        }
        if regret is not None and regret.n_windows:
            values |= {
                "regret_spent": regret.spent,
                "regret_fixed": regret.fixed,
                "regret_sequence": regret.sequence,
            }
        return _with_units(values)

    # ------------------------------------------------------------------ matrices

    def matrices(self) -> list[Matrix]:
        """Access patterns, bits by partition, routes and the best configurations."""
        eddy = self._eddy
        if eddy.profile is None:
            return []
        matrices = [self._routes()]
        for port in range(eddy.view.n):
            matrices += [self._patterns(port), self._partitions(port)]
        return matrices

    def _matrix(
        self, kind: str, about: str, rows: list[str], columns: tuple[str, ...], values: list[Any],
        n: int = 0, **more: Any,
    ) -> Matrix:  # fmt: skip
        title = f"{kind} of {about}"
        return Matrix(title, kind, tuple(rows), columns, values, "", n, **more)

    @property
    def _predicted(self) -> dict[int, dict[Pattern, float]]:
        """By state the share of each pattern that the routes in force lead to, by the fan-outs seen
        (card A14.6)."""
        eddy = self._eddy
        if eddy.profile is None:
            return {}
        came = eddy.profile.came[:, 0].tolist()
        routes = [(port, order, came[port]) for port, order in enumerate(eddy.orders)]
        return predicted_frequencies(eddy.view.graph, eddy.fan_outs, routes)

    def _patterns(self, port: int) -> Matrix:
        state, view = self._eddy.states[port], self._eddy.view
        counts, total = state.counts.by_pattern, max(1, state.counts.requests)
        report = None if state.chosen is None else state.chosen.report
        reported, entries, folded = (
            ({}, {}, {}) if report is None else (report.frequencies, report.entries, report.folded)
        )
        is_exact = report is not None and report.guarantees.undercount == 0.0
        predicted = self._predicted.get(port, {})
        rows = sorted({*counts, *predicted, *entries, *folded}, reverse=True)
        counts = {p: counts.get(p, NO_COUNTS) for p in rows}
        values = [
            [
                counts[p][PROBES],
                counts[p][PROBES] / total,
                reported.get(p),
                predicted.get(p),
                _ratio(counts[p][SCANNED], counts[p][PROBES]),
                _ratio(counts[p][MATCHES], counts[p][PROBES]),
                _ratio(counts[p][BUCKETS], counts[p][PROBES]),
                entry and entry.n,
                entry and (0 if is_exact else entry.delta),
                _ratio(counts[p][CODES_READ], counts[p][PROBES]),
            ]
            for p in rows
            for entry in [entries.get(p)]
        ]
        names, askers = [view.pattern(port, p) for p in rows], self._askers(port)
        facts = {
            "state": [self.state(port)],
            "pattern": rows,
            "folded into": [folded.get(p) for p in rows],
            "asked by": [askers.get(p, []) for p in rows],
            "assessed": [] if report is None else [report.total],
            "seen": state.seen.json(),
        }
        return self._matrix(
            "access patterns", self._name(port), names, PATTERN_COLUMNS, values,
            state.counts.requests, row_stats=facts,
        )  # fmt: skip

    def _askers(self, port: int) -> dict[int, list[str]]:
        """By pattern the routes in force whose elements ask a state by it, origin first."""
        view, askers = self._eddy.view, dict[int, list[str]]()
        for origin, order in enumerate(self._eddy.orders):
            if port != origin:
                composite = (origin, *order[: order.index(port)])
                pattern = view.graph.pattern(composite, port)
                askers.setdefault(pattern, []).append(view.route((origin, *order)))
        return askers

    def _partitions(self, port: int) -> Matrix:
        state, names = self._eddy.states[port], self._eddy.view.attributes[port]
        rows = _by_number(state.report.partitions)
        facts = {
            "state": [self.state(port)],
            "tuples": [sum(row.n_tuples for row in of) for of in rows],
            "migrating": [of[0].number in state.migrating for of in rows],
            "next": list(state.bits),
        }
        return self._matrix(
            "bits by partition", self._name(port), [str(of[0].number) for of in rows], names,
            [list(of[0].bits) for of in rows], len(rows), row_stats=facts,
        )  # fmt: skip

    def _routes(self) -> Matrix:
        eddy, view = self._eddy, self._eddy.view
        assert eddy.profile is not None
        rows, values = [], []
        for port, choice in enumerate(eddy.routes):
            prices = dict(choice.prices) if choice is not None else {}
            taken = eddy.taken[port]
            n = max(1, sum(row[ELEMENTS] for row in taken.values()))
            for order in dict.fromkeys((*prices, eddy.orders[port], *taken)):
                elements, *work = taken.get(order, NOT_TAKEN)
                steps = flows(view.graph, eddy.fan_outs, port, order)
                rows.append(f"{view.names[port]} → {view.route(order)}")
                values.append(
                    [
                        prices.get(order), elements / n, _ratio(work[COMPARED - 1], elements),
                        _ratio(route_work(*work), elements), int(order == eddy.orders[port]),
                        elements,
                        *(eddy.fan_outs.of(step.state, step.pattern) for step in steps),
                    ]
                )  # fmt: skip
        fan_outs = (f"fan-out {place}" for place in range(1, view.n))
        columns = ("price", "share", "compared", "work", "in force", "elements", *fan_outs)
        return self._matrix(
            "routes by origin", eddy.name, rows, columns, values, int(eddy.profile.came.sum())
        )


def _by_number(rows: Sequence[PartitionReport]) -> list[list[PartitionReport]]:
    """Partitions of one number in all shards together, oldest first; of these the largest one, the
    bits of which are shown, first."""
    by_number: dict[int, list[PartitionReport]] = {}
    for row in sorted(rows, key=lambda row: (row.number, -row.n_tuples, row.shard)):
        by_number.setdefault(row.number, []).append(row)
    return list(by_number.values())


def _of_index(state: StateIndex) -> Values:
    report = state.report
    n = len(_by_number(report.partitions))
    return _with_units(
        {
            "index_bytes": report.index_bytes,
            "index_bits": sum(state.tuning.bits or ()),
            "hash_indexes_used": len(state.tuning.modules) or None,
            "partitions": n,
            "configurations_used": state.configurations_used,
            "migrated_tuples": report.migrated or None,
            "migrating_share": len(state.migrating) / n if n else None,
        }
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _with_units(values: Mapping[str, float | None]) -> Values:
    return {
        name: (value, AMRI.properties[name].unit)
        for name, value in values.items()
        if value is not None or not AMRI.properties[name].absent_is_zero
    }
