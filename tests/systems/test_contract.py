"""What every system and its units keep to. A new line of SYSTEMS is tested without more ado."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any, get_args

import pytest

from backend.adaptive.words import REFILLED
from backend.operators.network.core.job import NetworkJob
from backend.systems.contract import (
    Claim,
    KeepsState,
    Recorded,
    Refusal,
    Refused,
    System,
    UnitState,
)
from backend.systems.registry import SYSTEMS
from storage.vocabulary.core import CORE
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.kinds import EntityKind, Verdict
from storage.vocabulary.properties import Vocabulary, joined
from storage.vocabulary.records import PlanVersion
from storage.vocabulary.registry import KNOWN, VOCABULARIES
from tests.systems.running import ASKED, BATTERY, TEXTS, Bench, claimed, executed, query, tuples

KNOBS: dict[str, dict[str, Any]] = {
    "asc": {"lambda_tuples": 800, "cooldown_tuples": 0},
    "cals": {"memory_tuples": 12, "state_form": "tuples"},
    "amri": {"period_requests": 400, "trigger_requests": 700},
}
#: Other queries of the unit, by name, where they are not the first of its own.
OTHERS = {"agreedy": "again"}
#: Knobs by which nothing is decided from batch to batch.
STILL = {"amri": {"router": "fixed", "tuning_schedule": "off"}}
#: What these lose depends on the tuples alone, not on the plan.
SHEDDING = {"cals"}
#: What these keep of what they sampled is not all.
REFILLING = {"joins"}
#: A knob that says what runs, with two values of it.
TURNED = {
    "sampling": ("share", 0.0, 0.25),
    "stream": ("load", 0.5, 2.0),
    "joins": ("load", 0.5, 2.0),
    "kmon": ("load", 0.5, 2.0),
    "amri": ("load", 0.5, 2.0),
    "cals": ("load", 0.5, 2.0),
}

systems = pytest.mark.parametrize("system", BATTERY, ids=lambda system: system.name)


def bench_of(system: System, **knobs: Any) -> Bench:
    return Bench(system, {**KNOBS.get(system.name, {}), **knobs})


def words_of(system: System) -> Vocabulary:
    """Those a system may use."""
    return joined((CORE, system.vocabulary))


def drifted(system: System) -> Bench:
    """A unit that has run a drifting stream."""
    bench = bench_of(system)
    bench.keep(bench.unit.start(None))
    bench.drift()
    return bench


def test_names_of_systems_differ() -> None:
    assert len({system.name for system in BATTERY}) == len(BATTERY)
    assert all(system.name.isidentifier() and system.title for system in BATTERY)


def test_the_store_knows_the_words_of_every_system_and_no_others() -> None:
    assert joined(VOCABULARIES) == KNOWN
    said = [CORE, *(system.vocabulary for system in SYSTEMS)]
    assert {word for one in said for word in one.roles} == set(KNOWN.roles)
    assert {word for one in said for word in one.matrices} == set(KNOWN.matrices)
    assert {word for one in said for word in one.properties} == set(KNOWN.properties)
    assert {word for one in said for word in one.long_parts} == KNOWN.long_parts
    assert {word for one in said for word in one.staying_parts} == KNOWN.staying_parts
    assert {word for one in said for word in one.events} == set(KNOWN.events)
    with pytest.raises(ValueError, match="two vocabularies have race, rank"):
        joined((*VOCABULARIES, Vocabulary(("race",), (), {"rank": KNOWN.properties["rank"]})))


@pytest.mark.parametrize("name", TEXTS)
def test_one_system_runs_a_query_and_the_others_say_why_not(name: str) -> None:
    asked = [s for s in SYSTEMS if s.is_default or s.name == ASKED.get(name)]
    answers = [system.claim(query(name)) for system in SYSTEMS if system.is_default]
    assert isinstance(asked[-1].claim(query(name)), Claim) or name not in ASKED
    assert sum(isinstance(answer, Claim) for answer in answers) == 1
    for answer in answers:
        if isinstance(answer, Refusal):
            assert name in answer.reason
            assert not answer.reason.endswith(".")


@systems
def test_defaults_of_knobs_are_allowed_and_ranges_hold(system: System) -> None:
    names = [spec.name for spec in system.knobs]
    assert len(set(names)) == len(names)
    for spec in system.knobs:
        assert spec.check(spec.default) == spec.default
        assert spec.help
        assert spec.help.endswith(".")
        if spec.kind in ("float", "int"):
            assert spec.low is not None
            assert spec.high is not None
            assert spec.check(spec.low) == spec.low < spec.high
            assert spec.check(spec.high) == spec.high
            with pytest.raises(ValueError, match="allowed"):
                spec.check(spec.high * 1.1 + 1)


@systems
def test_the_first_plan_is_number_one_and_the_plan_in_force(system: System) -> None:
    bench = bench_of(system)
    (plan,) = bench.unit.start(None).plans
    assert (plan.version, plan.batch, plan.decision) == (1, 0, None)
    assert bench.unit.plan_version == 1
    assert plan.reason


@systems
def test_plans_are_graphs_whose_digest_is_stable(system: System) -> None:
    bench = drifted(system)
    assert len(bench.recorded.plans) > 1
    for plan in bench.recorded.plans:
        graph = PlanGraph.from_json(json.loads(json.dumps(plan.graph)))
        assert plan.hash == graph.digest
        assert plan.order == graph.order
        assert all(node.role in words_of(system).roles for node in graph.nodes)
    hashes = {plan.order: plan.hash for plan in bench.recorded.plans}
    assert len(set(hashes.values())) >= len(hashes)


@systems
def test_orders_are_permutations_of_the_operators(system: System) -> None:
    bench = drifted(system)
    roles = {entity.id: entity.role for entity in bench.unit.entities({})}
    for plan in bench.recorded.plans:
        assert len(set(plan.order)) == len(plan.order)
        assert set(plan.order) == set(bench.recorded.plans[0].order)
        assert all(roles[id] not in ("queue", "query", "system") for id in plan.order)


@systems
def test_versions_and_decisions_are_numbered_without_gaps(system: System) -> None:
    found = drifted(system).recorded
    assert [p.version for p in found.plans] == list(range(1, len(found.plans) + 1))
    assert [d.seq for d in found.decisions] == list(range(1, len(found.decisions) + 1))
    switched = [d for d in found.decisions if d.verdict == "switched"]
    assert switched
    versions = list(dict.fromkeys(d.plan_version for d in switched))
    assert versions == [p.version for p in found.plans if p.decision]
    assert {o.decision for o in found.outcomes} <= {d.seq for d in switched}


@systems
def test_words_of_records_are_those_of_the_closed_lists(system: System) -> None:
    bench = drifted(system)
    assert {d.verdict for d in bench.recorded.decisions} <= set(get_args(Verdict))
    assert {e.kind for e in bench.recorded.events} <= set(words_of(system).events)
    for entity in bench.unit.entities({}):
        assert entity.kind in get_args(EntityKind)
        assert entity.role in words_of(system).roles
        assert entity.unit_id == bench.id
        assert entity.id.startswith(bench.id)
        assert entity.name
        assert "/" not in entity.name


@systems
def test_samples_are_of_known_entities_properties_and_units(system: System) -> None:
    bench = drifted(system)
    kinds = {entity.id: entity.kind for entity in bench.unit.entities({})}
    assert bench.observations[-1].samples
    for observation in bench.observations:
        keys = [(sample.entity, sample.property) for sample in observation.samples]
        assert len(set(keys)) == len(keys)
        for sample in observation.samples:
            known = words_of(system).properties[sample.property]
            assert sample.unit == known.unit, sample
            assert kinds[sample.entity] in known.kinds, sample
        assert {m.kind for m in observation.matrices} <= set(words_of(system).matrices)


@systems
def test_records_hold_what_json_can_say(system: System) -> None:
    bench = drifted(system)
    found = bench.recorded
    records: list[Any] = [*found.plans, *found.decisions, *found.outcomes, *found.events]
    records += [m for o in bench.observations for m in o.matrices]
    records += bench.unit.entities({})
    for record in records:
        assert json.loads(json.dumps(asdict(record), allow_nan=False))


@systems
def test_the_same_events_give_the_same_records(system: System) -> None:
    first, second = drifted(system), bench_of(system)
    second.keep(second.unit.start(None))
    for event in first.events:
        second.unit.operator(event.batch_id)
        second.take(event)
    assert first.recorded == second.recorded
    assert first.observations == second.observations


@systems
def test_matrices_come_with_decisions_and_once(system: System) -> None:
    bench = bench_of(system)
    bench.unit.start(None)
    assert bench.unit.observe().samples == ()
    found = bench.run(tuples(400, seed=1))
    assert bool(found.decisions) == bool(bench.observations[-1].matrices)
    again = bench.unit.observe()
    assert (again.samples, again.matrices) == ((), ())


@systems
def test_an_operator_stays_while_nothing_changes(system: System) -> None:
    knob, before, after = TURNED.get(system.name, ("profile_prob", 0.0, 0.25))
    bench = bench_of(system, **{knob: before}, **STILL.get(system.name, {}))
    bench.unit.start(None)
    bench.run(tuples(300, seed=1))
    first = bench.unit.operator(1)
    bench.run(tuples(300, seed=1))
    assert bench.unit.operator(2) is first
    bench.turn(knob, after)
    assert bench.unit.operator(2) is not first


@systems
def test_results_do_not_depend_on_the_plan(system: System) -> None:
    bench = drifted(system)
    fresh = bench.made(bench.queries)
    fresh.start(None)
    rows = tuples(500, seed=99)
    now, before = executed(bench.unit, 50, rows), executed(fresh, 50, rows)
    assert bench.unit.plan_version > fresh.plan_version
    is_same = not bench.unit.inexact or system.name in SHEDDING
    assert (now.matched_by_query == before.matched_by_query) == is_same
    assert now.matched_by_query.keys() == before.matched_by_query.keys()
    assert before.n_matched >= now.n_matched > 0


@systems
def test_without_queries_nothing_matches_and_a_paused_query_stays_visible(system: System) -> None:
    bench = bench_of(system)
    bench.unit.start(None)
    bench.run(tuples(300, seed=1))
    version = bench.unit.plan_version
    found = bench.register((), "all paused")
    assert [p.version for p in found.plans] == [version + 1]
    assert executed(bench.unit, 1, tuples(300, seed=2)).n_matched == 0
    operator = bench.unit.operator(1)
    assert isinstance(operator, NetworkJob) or not operator.selects
    paused = {one.name: one for one in bench.queries}
    states = {
        e.name: e.properties["state"] for e in bench.unit.entities(paused) if e.role == "query"
    }
    assert states == dict.fromkeys(paused, "paused")
    bench.register(bench.queries, "all resumed")
    assert executed(bench.unit, 2, tuples(300, seed=2)).n_matched > 0
    operator = bench.unit.operator(2)
    assert isinstance(operator, NetworkJob) or operator.selects


@systems
def test_unchanged_entities_are_equal_to_those_before(system: System) -> None:
    bench = drifted(system)
    before = {entity.id: entity for entity in bench.unit.entities({})}
    bench.run(tuples(300, seed=1))
    assert {entity.id: entity for entity in bench.unit.entities({})} == before


def _stored(plan: PlanVersion) -> PlanVersion:
    """As it comes back from a store."""
    fields = {name: json.loads(json.dumps(value)) for name, value in asdict(plan).items()}
    return replace(plan, graph=fields["graph"], evidence=fields["evidence"])


@systems
def test_a_killed_run_goes_on_with_its_plan_and_numbers(system: System) -> None:
    bench = drifted(system)
    plan, n = _stored(bench.recorded.plans[-1]), len(bench.recorded.decisions)
    again = bench_of(system)
    again.batch, again.unit = bench.batch, again.made(again.queries)
    facts = bench.unit.facts() if isinstance(bench.unit, KeepsState) else {}
    found = again.keep(again.unit.start(UnitState(plan, n, json.loads(json.dumps(facts)))))
    assert found.plans == ()
    assert found.events == (() if facts and system.name not in REFILLING else (REFILLED,))
    assert again.unit.plan_version == plan.version
    rows = tuples(300, seed=5)
    reports = [executed(unit, 70, rows) for unit in (bench.unit, again.unit)]
    assert reports[0].matched_by_query == reports[1].matched_by_query
    again.drift(6)
    assert again.recorded.decisions
    seqs = [d.seq for d in again.recorded.decisions]
    assert seqs == list(range(n + 1, n + 1 + len(seqs)))


@systems
def test_a_killed_run_with_other_queries_gets_a_new_plan(system: System) -> None:
    bench = drifted(system)
    plan = _stored(bench.recorded.plans[-1])
    changed = query(OTHERS.get(system.name, bench.queries[0].name))
    unit = bench.made([changed])
    found: Recorded = unit.start(UnitState(plan, 5))
    (adopted,) = found.plans
    assert adopted.version == plan.version + 1 == unit.plan_version
    assert adopted.batch == bench.batch
    assert set(adopted.order) < set(plan.order)
    assert list(adopted.order) == [id for id in plan.order if id in adopted.order]


def test_a_hybrid_plan_goes_on_with_its_micro_arrows() -> None:
    system = next(s for s in SYSTEMS if s.name == "asc")
    bench = bench_of(system, ordering="hybrid", stop_rule="drop", no_drop_visit_cost=1)
    bench.keep(bench.unit.start(None))
    bench.drift(4)
    plan = _stored(bench.recorded.plans[-1])
    assert plan.kind == "hybrid"
    nodes = PlanGraph.from_json(plan.graph).nodes
    assert sum(n.properties.get("n_arrows", 0) for n in nodes) == len(plan.evidence["arrows"]) > 0
    unit = bench.made(bench.queries)
    assert unit.start(UnitState(plan, 3)).plans == ()


def test_a_unit_of_agreedy_has_one_query() -> None:
    system = next(s for s in SYSTEMS if s.name == "agreedy")
    bench = bench_of(system)
    with pytest.raises(Refused, match="one query"):
        bench.register((query("calls"), query("again")), "two")
    _, queries = claimed(system)
    assert [one.name for one in queries] == ["calls"]
