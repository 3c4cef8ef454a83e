"""Eddies at work in regions of their own, tuned at random, that tests share."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.eddy.operator import EddyJoin
from backend.operators.network.eddy.tuning import EddyTuning, StateTuning
from backend.operators.network.kinds.eddy import (
    EddyOp,
    SearchTerms,
    join_attributes,
    search_terms,
)
from backend.operators.network.kinds.joins import JoinOp
from tests.oracles.network_windows import Signed
from tests.unit.network.elements import block_of, elements_of, fields, stream


def eddies(plan: NetworkPlan) -> NetworkPlan:
    """The same with its join as an eddy."""
    last = plan.operators[-1]
    work = last.doing(JoinOp)
    eddy = EddyOp(work.equal, work.residual, work.orders)
    return replace(plan, operators=(*plan.operators[:-1], replace(last, work=eddy)))


@dataclass
class Routed:
    """An eddy at work in regions of its own."""

    plan: NetworkPlan
    out: list[Signed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.regions = MemoryRegions()
        self.retune(EddyTuning())

    def retune(self, tuning: EddyTuning) -> None:
        """Make it anew around its regions."""
        id = self.plan.operators[-1].id
        strings = Strings(self.regions.scope("strings"))
        around = Surroundings(self.plan, self.regions, strings, Clock(), tunings={id: tuning})
        self.operator = EddyJoin(self.plan.operators[-1], around)

    def run(self, inputs: Sequence[Sequence[Signed]], heartbeat: int) -> None:
        """A batch."""
        of = [self.plan.operator(id).fields for id in self.operator.planned.inputs]
        blocks = [block_of(list(part), one) for part, one in zip(inputs, of, strict=True)]
        self.out += elements_of(self.operator.run(blocks, heartbeat))


def terms_of(plan: NetworkPlan) -> SearchTerms:
    """By what the eddy of a plan is searched."""
    last = plan.operators[-1]
    return search_terms(last.doing(JoinOp), [plan.operator(id).fields for id in last.inputs])


def drawn_tuning(rng: random.Random, plan: NetworkPlan) -> EddyTuning:
    """Any routes, access methods, partitions and migrations."""
    routes, terms, n = [], terms_of(plan), len(plan.operators[-1].inputs)
    for port in range(n):
        every = list(permutations(k for k in range(n) if k != port))
        rng.shuffle(every)
        routes.append(tuple(every[: rng.randint(1, 3)]))
    states = []
    for port in range(n):
        n_attributes = len(join_attributes(terms, port))
        bits = tuple(rng.choice([0, 0, 1, 2, 5, 16]) for _ in range(n_attributes))
        patterns = range(1, 1 << n_attributes)
        modules = tuple(rng.sample(patterns, min(rng.randint(0, 2), len(patterns))))
        serves = [(p, m) for p in patterns for m in modules if p & m == m and rng.random() < 0.5]
        states.append(
            StateTuning(
                bits if rng.random() < 0.8 and n_attributes else None,
                modules,
                rng.choice([1, 2, 3, 4, 4, 4, 7]) if rng.random() < 0.3 else 4,
                tuple(range(20)) if rng.random() < 0.5 else (),
                tuple(serves),
            )
        )
    share = rng.choice([0.0, 0.3, 1.0])
    return EddyTuning(tuple(routes), share, tuple(states), migration_us=1_000_000)


FOUR = fields("bigint", "bigint", "bigint")


def clique(kind: type[JoinOp]) -> NetworkPlan:
    """Each of four streams joins each of the others on an attribute of its own (A12)."""
    free = {port: iter(range(3)) for port in range(4)}
    classes = tuple(
        ((i, next(free[i])), (j, next(free[j]))) for i in range(4) for j in range(i + 1, 4)
    )
    sources = [stream(f"s{k}", FOUR) for k in range(4)]
    join = PlannedOperator("j", kind(classes), tuple(one.id for one in sources), FOUR * 4)
    return NetworkPlan((*sources, join))


def sliding(rng: random.Random, n: int, window: int, domain: int) -> list[Signed]:
    """A tuple at each tick; the oldest leaves when there are more than the window holds."""
    found: list[Signed] = []
    rows: list[tuple[int, ...]] = []
    for tick in range(n):
        rows.append(tuple(rng.randrange(domain) for _ in range(3)))
        found.append((rows[-1], tick, 1))
        if len(rows) > window:
            found.append((rows.pop(0), tick, -1))
    return found
