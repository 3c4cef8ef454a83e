"""Joins under k-constraints in introspection: entities, samples, matrices, the plan."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from backend.model.conditions import DeclaredConstraint
from backend.operators.network.kmon.tuning import DISTANCE_BINS, SeenDistance, bin_end
from backend.systems.kmon.published import LEDGER
from storage.vocabulary.kmon import K_STATES, KMON
from storage.vocabulary.registry import KNOWN
from tests.unit.kmon.cases import (
    GRAPH_A,
    ONE_ONE,
    PAIR,
    Bench,
    Worth,
    decisions,
    waiting_world,
    work_of,
)

RIDS = "kmon.network/constraint:join1 RIDS 0 1"
WORLD = waiting_world(RIDS=Worth(k=40, saved=9000, largest=33), CA=Worth(k=7))


def values(bench: Bench, entity: str) -> dict[str, float | None]:
    found = bench.core.samples(bench.report)
    return {one.property: one.value for one in found if one.entity == entity}


def test_constraints_and_synopses_are_entities_with_names_and_facts() -> None:
    known = DeclaredConstraint("RIDS", 9, "S1", "S2")
    bench = Bench(work_of(ONE_ONE), constraints=[known])
    by_name = {one.name: one for one in bench.core.entities()}
    one = by_name["RIDS S1 → S2"]
    assert (one.id, one.kind, one.role) == (RIDS, "monitor", "constraint")
    assert one.properties == {
        "node": bench.layout.node("join1"),
        "type": "RIDS",
        "parent": "S1",
        "child": "S2",
        "attribute": "",
        "short_name": "RIDS S1 → S2",
        "port": 0,
        "declared_k": 9,
        "joins": ["S1 ↔ S2"],
    }
    synopsis = by_name["S2"]
    assert (synopsis.kind, synopsis.role) == ("synopsis", "components")
    assert synopsis.properties["input"] == "S2"
    assert {e.role for e in by_name.values()} <= {*KNOWN.roles}


def test_names_tell_the_query_where_several_joins_have_constraints() -> None:
    bench = Bench(work_of(PAIR), work_of(PAIR))
    names = [one.name for one in bench.core.entities()]
    assert len({*names}) == len(names)
    assert {"RIDS S1 → S2 of q1", "RIDS S1 → S2 of q2", "S1 in q2"} <= {*names}


def test_samples_have_the_units_of_the_vocabulary_and_belong_to_entities() -> None:
    bench = Bench(work_of(GRAPH_A))
    world = replace(WORLD, arrivals=[5, 1, 1], yes=[9, 9, 9], unknown=[9, 0, 0], no=[0, 0, 0])
    bench.run(world, times=3)
    ids = {one.id for one in bench.core.entities()} | {bench.layout.node("join1")}
    for one in bench.core.samples(bench.report):
        assert one.entity in ids
        assert one.unit == KNOWN.properties[one.property].unit
    told = {one.property for one in bench.core.samples(bench.report)}
    assert KMON.properties.keys() - told == {
        name for name, one in KMON.properties.items() if one.absent_is_zero
    }


def test_samples_of_a_constraint_and_of_the_join() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(WORLD, times=2)
    own = values(bench, RIDS)
    assert own["k_state"] == K_STATES.index("used")
    assert own["k_used_tuples"] == own["k_estimate_tuples"] == 40
    assert own["k_kept_tuples"] == 48
    assert own["k_largest_tuples"] == 33
    assert own["k_saved_bytes"] == 9000 * (24 - 12)
    join = values(bench, bench.layout.node("join1"))
    assert join["held_tuples"] == 31_000 - 9000 + 500
    assert join["plain_bytes"] == 31_000 * 24
    assert join["joined_results_total"] == 2000
    assert join["monitor_share"] == 0.01
    assert join["time_weight"] == 1


def test_what_a_constraint_would_save_more_and_costs_is_what_it_bids() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(WORLD, times=13)
    (evaluated,) = decisions(bench.run(WORLD))
    own, costs = values(bench, RIDS), evaluated.detail["problem"]["costs"]
    assert own["k_cost_bytes"] == costs["RIDS 0 1"]
    assert own["k_worth_bytes"] == pytest.approx(evaluated.lhs)
    bench.grant(1)
    bench.run(WORLD)
    assert 0 < (values(bench, bench.layout.node("join1"))["time_weight"] or 0) < 1
    assert (values(bench, RIDS)["k_cost_bytes"] or 0) < costs["RIDS 0 1"]
    off = Bench(work_of(PAIR), knobs={"constraints": "off"})
    off.run(WORLD)
    assert values(off, RIDS)["k_cost_bytes"] is None


def test_states_of_constraints() -> None:
    bench = Bench(work_of(PAIR), knobs={"forbidden_constraints": "CA S1.A"})
    bench.run(WORLD, times=2)
    ids = {one.name: one.id for one in bench.core.entities()}
    states = {
        name: K_STATES[int(values(bench, ids[name])["k_state"] or 0)]
        for name in ("RIDS S1 → S2", "CA S1.A", "OAP S1.A")
    }
    assert states == {"RIDS S1 → S2": "used", "CA S1.A": "unused", "OAP S1.A": "unknown"}


def test_totals_go_on_after_a_kill() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(WORLD, times=3)
    again = bench.killed()
    again.run(WORLD)
    assert values(again, bench.layout.node("join1"))["joined_results_total"] == 4000


def test_the_plan_shows_constraints_in_use_with_their_k() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(waiting_world(RIDS=Worth(k=40, saved=9000)))
    drawn = bench.core.drawn(bench.layout.graph())
    (note,) = drawn.node(bench.layout.node("join1")).properties["constraints"]
    assert note == {"name": "RIDS S1 → S2", "id": RIDS, "joins": ["S1 → S2"], "k": 40}
    assert bench.layout.node("join1") in drawn.order
    kept = [one for one in drawn.nodes if one.role == "components"]
    assert [one.name for one in kept] == ["S1", "S2"]
    assert not {one.id for one in kept} & {*drawn.order}
    again = bench.killed()
    assert again.core.drawn(again.layout.graph()).digest == drawn.digest


def test_the_plan_says_what_was_declared_of_attributes_that_are_not_joined() -> None:
    told = [
        DeclaredConstraint("OAP", 5, "S1", attribute="B"),
        DeclaredConstraint("RIDS", 1, "S2", "S1"),
    ]
    bench = Bench(work_of(PAIR), constraints=told)
    node = bench.core.drawn(bench.layout.graph()).node(bench.layout.node("join1"))
    assert node.properties["declared_in_vain"] == ["OAP S1.B", "RIDS S2 → S1"]


def test_the_matrices_have_a_row_for_each_constraint() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(WORLD, times=2)
    told = dict(bench.join.profile.constraints)
    id = bench.join.view.candidates["RIDS 0 1"].id
    bins = np.zeros(DISTANCE_BINS, np.int64)
    bins[[3, 17]] = 5, 2
    seen = (SeenDistance(1, 3), SeenDistance(2, 18))
    told[id] = replace(told[id], bins=bins, seen=seen)
    bench.join.profile = replace(bench.join.profile, constraints=told)
    distances, one_by_one, ledger, kept = bench.core.matrices()
    assert (kept.kind, kept.rows) == ("k kept", ())
    assert {m.kind for m in (distances, one_by_one, ledger, kept)} == {*KMON.matrices}
    assert distances.rows == one_by_one.rows == ledger.rows
    assert distances.rows[0] == RIDS
    assert distances.columns[-2:] == ("17", "19")
    assert dict(zip(distances.columns, distances.values[0], strict=True))["3"] == 5
    assert distances.values[0][-1] == 2
    assert one_by_one.values[0][:3] == [3, 18, None]
    assert len(one_by_one.values[0]) == len(one_by_one.columns) == 128
    row = dict(zip(LEDGER, ledger.values[0], strict=True))
    assert row["used"] == row["estimate"] == 40
    assert row["safe"] == 33
    assert row["saved_tuples"] == 9000
    bins[DISTANCE_BINS - 1] = 1
    assert bench.core.matrices()[0].columns[-1] == "∞"
    json.dumps([m.values for m in (distances, one_by_one, ledger)])


@pytest.mark.parametrize(
    ("place", "end"), [(0, 0), (15, 15), (16, 17), (23, 31), (24, 35), (31, 63), (32, 71)]
)
def test_bins_end_at_a_distance_each_then_eight_to_an_octave(place: int, end: int) -> None:
    assert bin_end(place) == end
