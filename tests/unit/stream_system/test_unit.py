"""The unit of a network: what it compiles, calls operators, decides, and takes up again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.ids import entity_id
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.systems.contract import Refused, UnitJob, UnitState
from backend.systems.registry import STREAM as SYSTEM
from backend.systems.stream.layout import NetworkLayout
from backend.systems.stream.unit import NetworkUnit
from backend.workloads.queries import read_query
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.records import PlanVersion
from tests.golden_files import check_golden
from tests.systems.running import FUNCTIONS, Bench, tuples

SCHEMAS = {
    "S": Schema.parse("a int, b int, at timestamp"),
    "T": Schema.parse("a int, c string, at timestamp"),
}
RELATIONS = {"R": Schema.parse("a int, name string")}
TEXTS = {
    "joined": "Select S.b / 2 As half From S [Range 10 seconds], T [Rows 5] "
    "Where S.a = T.a and b > 1",
    "named": "Select R.name, count(Distinct S.b) As n From S [Partition By a Rows 3] As S, R "
    "Where S.a = R.a Group By R.name",
    "left": "Select a From S [Now] Union Select a From T [Rows Unbounded]",
    "gone": "Select Dstream(a) From S [Range 1 minute Slide 30 seconds] Where rare(b)",
}


def read(texts: Mapping[str, str]) -> tuple[ContinuousQuery, ...]:
    """Queries, each of which may read those before it."""
    found: dict[str, ContinuousQuery] = {}
    for name, text in texts.items():
        found[name] = read_query(name, text, SCHEMAS, FUNCTIONS, RELATIONS, found)
    return tuple(found.values())


def job_of(*names: str, batch: int = 0, ticks: int = 1_000_000) -> UnitJob:
    times = {"S": StreamTime("at", ticks), "T": StreamTime("at", 1_000_000, 4)}
    queries = read({name: TEXTS[name] for name in names})
    return UnitJob("u", ("S", "T"), SCHEMAS, queries, FUNCTIONS, times=times, batch=batch)


def made(*names: str, batch: int = 0, **knobs: object) -> NetworkUnit:
    unit = SYSTEM.unit(job_of(*names, batch=batch), settings(**knobs))
    assert isinstance(unit, NetworkUnit)
    return unit


def settings(**knobs: object) -> KnobSettings:
    return KnobSettings.defaults(SYSTEM.knobs, knobs)


def test_a_job_has_the_streams_and_functions_its_queries_need_and_no_others() -> None:
    both = made("joined", "gone").operator(0)
    assert isinstance(both, NetworkJob)
    assert both.streams == {"S": StreamTime("at"), "T": StreamTime("at", disorder=4)}
    assert list(both.functions.functions) == ["rare"]
    alone = made("joined").operator(0)
    assert not alone.functions.functions
    assert made("gone").operator(0).inputs == ("S",)
    assert made().operator(0).plan.operators == ()


def test_queues_have_the_capacity_of_the_knob() -> None:
    unit = made("joined", queue_capacity=7)
    found = unit.operator(0).schedule
    assert set(found.capacity.values()) == {7}
    assert made("joined").operator(0).schedule.capacity == {}


def test_operators_are_told_in_words() -> None:
    unit = made("joined", "named", "left", "gone")
    lines = [
        f"{one.role}: {one.name}" + (f" (keeps {one.keeps})" if one.keeps else "")
        for one in unit.layout.words.values()
    ]
    check_golden("stream_operators.txt", "\n".join(lines) + "\n")
    roles = {entity.role for entity in unit.entities({})}
    assert {"input", "source", "window", "join", "select", "aggregate", "synopsis"} <= roles


def test_nodes_say_their_queries_shard_key_and_why() -> None:
    unit = made("joined", "named")
    graph = PlanGraph.from_json(unit.start(None).plans[0].graph)
    (join,) = [n for n in graph.nodes if n.role == "join" and "joined" in n.properties["queries"]]
    assert join.properties["attributes"] == ["a"]
    assert join.properties["n_inputs"] == 2
    assert isinstance(join.properties["shard_key"], dict)
    assert join.properties["shard_why"].endswith(".")


def test_streams_with_ticks_of_their_own_are_refused() -> None:
    with pytest.raises(Refused, match="one tick, not several: S 1000 us, T 1000000 us"):
        SYSTEM.unit(job_of("joined", ticks=1000), settings())


def test_shards_stay_for_a_run() -> None:
    unit = made("joined", shards=2)
    (plan,) = unit.start(None).plans
    assert unit.operator(0).n_shards == 2
    with pytest.raises(Refused, match="shards stays 2: it is fixed for a run"):
        unit.changed(KnobsChanged(settings(shards=3), 5))
    assert unit.operator(1).n_shards == 2
    again = made("joined", batch=9, shards=4)
    with pytest.raises(Refused, match="start a new run with --fresh"):
        again.start(UnitState(plan, 0))


def test_a_query_keeps_the_batch_it_was_registered_at_while_it_means_the_same() -> None:
    unit = made("joined")
    unit.start(None)
    queries = job_of("joined", "gone").queries
    (plan,) = unit.changed(QueriesChanged(queries, 6, "gone registered")).plans
    assert {n: told[0] for n, told in plan.evidence["registered"].items()} == {
        "joined": 0,
        "gone": 6,
    }
    again = made("joined", "gone", batch=9)
    assert again.start(UnitState(plan, 3)).plans == ()
    assert again.layout.plan == unit.layout.plan
    (other,) = read({"joined": "Select S.b From S [Now]"})
    (changed,) = unit.changed(QueriesChanged((other,), 12, "joined reads otherwise")).plans
    assert changed.evidence["registered"]["joined"][0] == 12


def test_a_query_is_another_when_one_it_reads_is() -> None:
    texts = {"base": "Select a From S [Rows 3]", "reads": "Select Distinct a From base"}
    unit = NetworkUnit(UnitJob("u", ("S",), SCHEMAS, read(texts)), settings(), SYSTEM.cores)
    unit.start(None)

    def registered(plan: PlanVersion) -> dict[str, int]:
        return {name: told[0] for name, told in plan.evidence["registered"].items()}

    spelled = read(texts | {"base": "select A from S [rows 3] -- the same"})
    (same,) = unit.changed(QueriesChanged(spelled, 4, "spelled otherwise")).plans
    assert registered(same) == {"base": 0, "reads": 0}
    wider = read(texts | {"base": "Select a From S [Rows 4]"})
    again = NetworkUnit(UnitJob("u", ("S",), SCHEMAS, wider, batch=6), settings(), SYSTEM.cores)
    assert registered(again.start(UnitState(same, 0)).plans[0]) == {"base": 6, "reads": 6}
    (changed,) = unit.changed(QueriesChanged(wider, 8, "base is wider")).plans
    assert registered(changed) == {"base": 8, "reads": 8}


def test_knobs_that_change_no_plan_make_another_job_only() -> None:
    unit = made("joined")
    unit.start(None)
    before = unit.operator(0)
    assert unit.changed(KnobsChanged(settings(load=2.0), 1)).plans == ()
    assert unit.operator(1).schedule.load == 2.0
    assert unit.operator(1).plan is before.plan
    (plan,) = unit.changed(KnobsChanged(settings(load=2.0, sharing=False), 2)).plans
    assert (plan.version, plan.reason.split(",")[0]) == (2, "sharing is off")
    assert not unit.operator(2).plan.sharing


def test_an_empty_network_and_paused_queries_are_shown() -> None:
    unit = made()
    unit.start(None)
    paused = {one.name: one for one in job_of("joined").queries}
    entities = {entity.id: entity for entity in unit.entities(paused)}
    assert entities[entity_id("u", "query", "joined")].properties["state"] == "paused"
    assert NetworkLayout.of("u", unit.operator(0).plan).streams == {}


@pytest.mark.parametrize("turned", [False, True])
def test_the_outcome_of_a_switch_is_that_of_its_own_network(turned: bool) -> None:
    bench = Bench(SYSTEM)
    bench.keep(bench.unit.start(None))
    (first,) = bench.run(tuples(400, seed=0)).decisions
    assert first.verdict == "switched"
    if turned:
        bench.turn("scheduler", "greedy")
    outcomes = bench.run(tuples(400, seed=0)).outcomes
    assert [one.decision for one in outcomes] == ([] if turned else [first.seq])


def test_the_trace_of_chains() -> None:
    bench = Bench(SYSTEM)
    bench.keep(bench.unit.start(None))
    for batch in range(12):
        if batch == 8:
            bench.turn("scheduler", "greedy")
        if batch == 10:
            bench.turn("scheduler", "fifo")
        bench.run(tuples(400, seed=batch // 4))
    lines = []
    for d in bench.recorded.decisions:
        lines.append(f"#{d.seq} batch {d.batch} {d.algorithm} {d.verdict}: {d.explanation}")
        if d.verdict == "switched":
            lines += [f"    {chain}" for chain in d.new]
    check_golden("stream_chains_trace.txt", "\n".join(lines) + "\n")
