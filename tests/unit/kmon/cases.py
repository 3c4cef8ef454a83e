"""Joins under k-constraints whose batches are told by hand, to test what is decided on them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from backend.adaptive.core import Evaluations
from backend.model.conditions import TRUE, ContinuousQuery, DeclaredConstraint
from backend.model.knobs import KnobSettings
from backend.model.schema import Attribute
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.reports import NetworkReport, OperatorCounts
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.kmon import JoinEdge, JoinedInput, KMonOp
from backend.operators.network.kmon.tuning import (
    UNKNOWN_K,
    ComponentCounts,
    ConstraintProfile,
    KChange,
    KMonProfile,
    KMonTuning,
)
from backend.systems.contract import UnitState
from backend.systems.cores import NetworkRan
from backend.systems.kmon.candidates import ConstrainedJoin
from backend.systems.kmon.core import KMonCore
from backend.systems.kmon.join import AdaptedKMon, Record
from backend.systems.kmon.knobs import KMonKnobs
from backend.systems.stream.layout import NetworkLayout
from storage.vocabulary.memory import Grant
from storage.vocabulary.records import Decision, DecisionOutcome, PlanVersion
from tests.oracles.decision_records import faults

#: (name, type) of the columns of each input.
Columns = Sequence[Sequence[tuple[str, str]]]
INTS: Columns = ([("A", "int"), ("B", "int")], [("A", "int"), ("C", "int")], [("B", "int")])
#: S1 → S2, S1 → S3; S1 → S2; S1 → S3, S2 → S3; S1 ↔ S2.
GRAPH_A = (JoinEdge(0, 1, ((0, 0),)), JoinEdge(0, 2, ((1, 0),)))
PAIR, ONE_ONE = (JoinEdge(0, 1, ((0, 0),)),), (JoinEdge(0, 1, ((0, 0),), one_one=True),)
TWO_ROOTS = (JoinEdge(0, 2, ((1, 0),)), JoinEdge(1, 2, ((1, 0),)))


def work_of(edges: Sequence[JoinEdge], names: Sequence[str] = ("S1", "S2", "S3")) -> KMonOp:
    """A join of as many inputs as its edges name."""
    n = 1 + max(max(edge.parent, edge.child) for edge in edges)
    inputs = tuple(JoinedInput(name, "rows", 50_000) for name in names[:n])
    return KMonOp(inputs, tuple(edges), ((0, 0),))


def plan_of(*works: KMonOp, columns: Columns = INTS) -> NetworkPlan:
    """A network of joins over inputs of their own, each the answer of a query."""
    operators, answers = [], {}
    for number, work in enumerate(works, 1):
        ids = [f"{one.name}.{number}.{port}" for port, one in enumerate(work.inputs)]
        for id, one, own in zip(ids, work.inputs, columns, strict=False):
            fields = tuple(Attribute(*column) for column in own)
            operators.append(
                PlannedOperator(id, StreamInput(one.name, tuple(range(len(own)))), (), fields)
            )
        join, query = f"join{number}", f"q{number}"
        operators.append(PlannedOperator(join, work, tuple(ids), operators[-1].fields))
        answers[query] = PlannedAnswer(join, True)
    groups = (ShardGroup(tuple(operator.id for operator in operators), {}, "no key"),)
    return NetworkPlan(tuple(operators), answers, groups)


def view_of(edges: Sequence[JoinEdge], columns: Columns = INTS) -> ConstrainedJoin:
    """A join as decisions see it."""
    return ConstrainedJoin.of(plan_of(work_of(edges), columns=columns), "join1")


@dataclass
class Worth:
    """What a constraint turns out to be. k: that the estimator finds, -1: none; saved: tuples that
    it keeps out of memory while it is used; n: distances in a batch, ``largest`` of them."""

    k: int = UNKNOWN_K
    saved: int = 0
    n: int = 100
    largest: int = 0
    lost: int = 0
    changes: tuple[KChange, ...] = ()


@dataclass
class World:
    """What a join sees. arrivals: of each input in a batch; yes, unknown: tuples without any
    constraint; no: of each input, kept while a join into it is not bounded. monitor_ns: of
    1 000 000 in a batch."""

    arrivals: list[int]
    yes: list[int]
    unknown: list[int]
    no: list[int]
    worth: dict[str, Worth] = field(default_factory=dict)
    monitor_ns: int = 10_000
    n_results: int = 1000

    def told(self, view: ConstrainedJoin, tuning: KMonTuning, so_far: Sequence[int]) -> KMonProfile:
        """A batch that was executed like that."""
        constraints, gone = {}, [0] * len(self.arrivals)
        for one in tuning.constraints:
            key, candidate = next((k, c) for k, c in view.candidates.items() if c.id == one.id)
            worth = self.worth.get(key, Worth())
            if not one.is_watched:
                continue
            known = one.declared if one.declared != UNKNOWN_K else worth.k
            k = known if one.is_used else UNKNOWN_K
            saved = worth.saved if k != UNKNOWN_K else 0
            gone[candidate.input] += saved
            constraints[one.id] = ConstraintProfile(
                k=k,
                kept=k + 8 if k != UNKNOWN_K else UNKNOWN_K,
                estimate=worth.k,
                low=worth.k,
                high=worth.k,
                n_window=100,
                n_observed=worth.n,
                largest=worth.largest,
                n_violations=int(k != UNKNOWN_K and worth.largest > k),
                n_evicted=saved,
                saved_tuples=saved,
                n_lost=worth.lost if k != UNKNOWN_K else 0,
                changes=worth.changes,
            )
        return KMonProfile(
            tuple(self._component(input, out, tuning) for input, out in enumerate(gone)),
            constraints,
            tuple(a + b for a, b in zip(so_far, self.arrivals, strict=True)),
            self.n_results,
            monitor_ns=self.monitor_ns,
            processor_ns=1_000_000,
        )

    def _component(self, input: int, gone: int, tuning: KMonTuning) -> ComponentCounts:
        from_unknown = min(gone, self.unknown[input])
        yes = max(0, self.yes[input] - (gone - from_unknown))
        unknown, plain = self.unknown[input] - from_unknown, self.yes[input] + self.unknown[input]
        aside = plain - yes - unknown if tuning.loss == "never" else 0
        return ComponentCounts(yes, self.no[input], unknown, aside, plain, 24, 8, 12)


class Bench:
    """A core with a network of joins; batches run as worlds tell, one for each join."""

    def __init__(
        self,
        *works: KMonOp,
        knobs: Mapping[str, Any] | None = None,
        constraints: Sequence[DeclaredConstraint] = (),
        columns: Columns = INTS,
    ) -> None:
        self.plan, self.constraints = plan_of(*works, columns=columns), tuple(constraints)
        values = {"window_arrivals": 100, **(knobs or {})}
        self.settings = KnobSettings.defaults(KMonKnobs.specs(), values)
        self.core = KMonCore(Evaluations())
        self.batch = 0
        self._lay_out()

    def _lay_out(self) -> str:
        self.layout = NetworkLayout.of("kmon.network", self.plan, self._queries())
        return self.core.lay_out(self.layout, self.settings)

    def _queries(self) -> Iterable[ContinuousQuery]:
        for name in self.plan.answers:
            yield ContinuousQuery(name, "S1", "", TRUE, constraints=self.constraints)

    @property
    def join(self) -> AdaptedKMon:
        """The first."""
        return self.core["join1"]

    @property
    def used(self) -> list[str]:
        """Names of the constraints of the first join that are used."""
        return [one.name for key, one in self.join.view.candidates.items() if key in self.join.used]

    def turn(self, **values: Any) -> str:
        """Other knobs; what the core says to that."""
        for name, value in values.items():
            self.settings = self.settings.changed(name, value)
        return self._lay_out()

    def run(self, *worlds: World, times: int = 1) -> list[Record]:
        """So many batches."""
        found: list[Record] = []
        for _ in range(times):
            operators = {}
            for (id, join), world in zip(self.core.items(), worlds, strict=True):
                so_far = join.profile.arrivals or join.seen.arrivals or [0] * len(world.arrivals)
                told = world.told(join.view, join.tuning, so_far)
                operators[id] = OperatorCounts(profile=told)
            self.report = NetworkReport(operators=operators)
            found += self.core.observe(NetworkRan(self.batch, 1, self.report)).records
            self.batch += 1
        return found

    def grant(self, n_pages: int | None) -> None:
        """Of the pool of the run, to each."""
        self.core.grant({id: Grant(n_pages, 1.0) for id in self.core})

    def killed(self) -> Bench:
        """Another that goes on from the state of this one, as it is written down."""
        again = Bench(knobs=self.settings.values, constraints=self.constraints)
        again.plan, again.core = self.plan, KMonCore(Evaluations())
        again.core._evaluations.seq = self.core._evaluations.seq
        again._lay_out()
        facts = json.loads(json.dumps(self.core.state()))
        plan = PlanVersion(1, 0, "network", (), {}, "", "")
        totals: dict[str, dict[str, float]] = {}
        for one in self.core.samples(NetworkReport()):
            totals.setdefault(one.entity, {})[one.property] = one.value or 0
        again.core.restore(UnitState(plan, 0, facts, totals=totals))
        again.batch = self.batch
        return again


def decisions(records: Iterable[object], kind: str = "") -> list[Decision]:
    """Those among records, of one kind or all."""
    found = [one for one in records if isinstance(one, Decision)]
    return [one for one in found if not kind or one.kind == kind]


def switches(records: Iterable[object], kind: str = "") -> list[Decision]:
    """Decisions by which something changed."""
    return [one for one in decisions(records, kind) if one.verdict == "switched"]


def outcomes(records: Iterable[object]) -> list[DecisionOutcome]:
    """Those among records."""
    return [one for one in records if isinstance(one, DecisionOutcome)]


def waiting_world(**worth: Worth) -> World:
    """S1 → S2, in which 10 000 tuples of S1 wait; five of S1 come for each of S2. RIDS, CA, OAP,
    OAC: what these are worth."""
    keys = {"RIDS": "RIDS 0 1", "CA": "CA 0.0", "OAP": "OAP 0.0", "OAC": "OAC 1.0"}
    known = {keys[name]: one for name, one in worth.items()}
    return World([500, 100], [20_000, 1000], [10_000, 0], [0, 500], known)


def changed(world: World, key: str, **values: Any) -> World:
    """The same world, in which a constraint is worth something else."""
    return replace(world, worth={**world.worth, key: replace(world.worth[key], **values)})


def checked(found: Iterable[object]) -> list[Decision]:
    """All decisions, each of which follows from its record."""
    made = decisions(found)
    wrong = [(one.explanation, list(faults(one))) for one in made if list(faults(one))]
    assert not wrong
    return made


#: The constraint that these worlds are about.
RIDS = "RIDS 0 1"
#: RIDS saves most of what waits; it saves nothing, and watching takes a tenth of the time.
GOOD = waiting_world(RIDS=Worth(k=40, saved=9000))
POOR = replace(changed(GOOD, RIDS, saved=0), unknown=[100, 0], monitor_ns=100_000)
K_LOST = (KChange(10, 5, 40, UNKNOWN_K, 60, 12), KChange(90, 9, UNKNOWN_K, 40, 3, 100))
