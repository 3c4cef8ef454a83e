"""Eddies at work in a bench, that the tests of AMRI share."""

from __future__ import annotations

import json
from typing import Any

from backend.adaptive.core import Evaluations
from backend.cql import parse_query
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.network.kinds.eddy import EddyOp
from backend.systems.amri.core import AMRI, AmriCore
from backend.systems.amri.eddy import AdaptedEddy
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.states import StateIndex
from backend.systems.amri.view import EddyView
from backend.systems.contract import SystemUnit
from backend.systems.registry import AMRI as SYSTEM
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.unit import NetworkUnit
from storage.vocabulary.amri_windows import RegretTotals
from tests.systems.running import Bench, tuples

SCHEMA = Schema.parse("a int, b int, c int")


STREAMS = dict.fromkeys("STU", SCHEMA)


THREE = (
    "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5] Where S.a = T.a and T.b = U.b and S.c = U.c"
)


def claim(text: str) -> Any:
    return SYSTEM.claim(parse_query("q", text, STREAMS))


def view_of(text: str) -> EddyView:
    plan = compile_queries(
        [parse_query("q", text, STREAMS)], since={"q": 0}, tick_us=1, kinds=[AMRI]
    )
    ((eddy, _),) = plan.working(EddyOp)
    return EddyView.of(plan, eddy.id, {one.id: one.work.named(0) for one in plan.operators})


def knobs_of(**values: Any) -> AmriKnobs:
    return AmriKnobs.of(KnobSettings.defaults(AMRI.knobs, values))


SOON: dict[str, object] = {"period_requests": 400, "trigger_requests": 700, "partition_tuples": 16}


def core_of(unit: SystemUnit) -> AmriCore:
    assert isinstance(unit, NetworkUnit)
    (core,) = (one for one in unit.cores if isinstance(one, AmriCore))
    return core


def resumed(eddy: AdaptedEddy, knobs: AmriKnobs, state: Any) -> AdaptedEddy:
    """The same eddy in a run that goes on, with knobs that were turned meanwhile."""
    again = AdaptedEddy(eddy.view, Evaluations())
    again.turn(knobs, {})
    again.restore(json.loads(json.dumps(state)))
    return again


def eddy_of(bench: Bench) -> AdaptedEddy:
    return max(core_of(bench.unit).values(), key=lambda eddy: eddy.view.n)


def run_of(knobs: dict[str, object], n: int = 4) -> tuple[Bench, AdaptedEddy]:
    bench = Bench(SYSTEM, {**SOON, **knobs})
    bench.keep(bench.unit.start(None))
    for seed in range(n):
        bench.run(tuples(300, seed))
    return bench, eddy_of(bench)


def regret_of(state: StateIndex) -> RegretTotals:
    assert state.ledger is not None
    return state.ledger.totals
