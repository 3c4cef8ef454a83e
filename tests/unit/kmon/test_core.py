"""Joins under k-constraints as a core of a network: knobs, memory, restarts, several joins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.model.conditions import DeclaredConstraint
from backend.model.knobs import KnobRefused
from storage.vocabulary.records import Event
from tests.unit.kmon.cases import (
    GOOD,
    K_LOST,
    PAIR,
    POOR,
    RIDS,
    Bench,
    changed,
    decisions,
    switches,
    waiting_world,
    work_of,
)

LOST = "results may be lost: loss = budget with RIDS S1 → S2"


def test_answers_are_approximate_only_by_what_nobody_declared() -> None:
    bench = Bench(work_of(PAIR), knobs={"loss": "budget"})
    bench.run(GOOD)
    assert bench.core.inexact == {}, "nothing was used in that batch"
    bench.run(GOOD)
    assert bench.core.inexact == {"join1": LOST}
    bench.turn(loss="never")
    bench.run(GOOD)
    assert bench.core.inexact == {}
    known = DeclaredConstraint("RIDS", 40, "S1", "S2")
    declared = Bench(work_of(PAIR), knobs={"loss": "budget"}, constraints=[known])
    declared.run(GOOD, times=2)
    assert declared.core.inexact == {}
    declared.run(changed(GOOD, RIDS, largest=50, lost=3))
    assert declared.core.inexact == {"join1": LOST}


def test_time_counts_less_while_memory_is_short() -> None:
    slow = replace(changed(GOOD, RIDS, saved=9000), monitor_ns=700_000)
    bench = Bench(work_of(PAIR))
    bench.run(slow)
    assert bench.used == []
    bench.grant(40)
    bench.run(slow)
    assert bench.used == ["RIDS S1 → S2"]


def test_it_bids_for_what_it_holds() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(waiting_world())
    held = bench.join.held_bytes
    (bid,) = bench.core.bids().values()
    assert bid.n_pages == -(-held // 4096)
    assert bid.entity == bench.layout.node("join1")
    assert bid.weight == 600
    bench.grant(3)
    use = bench.core.memory_uses()["join1"]
    assert (use.granted_bytes, use.used_bytes) == (3 * 4096, held)


def test_a_run_that_goes_on_decides_as_if_it_had_not_stopped() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(GOOD, times=3)
    bench.run(changed(GOOD, RIDS, changes=K_LOST), times=2)
    again = bench.killed()
    assert again.core.state() == bench.core.state()
    assert again.join.totals == bench.join.totals
    for world in (changed(GOOD, RIDS, changes=K_LOST), GOOD, POOR, GOOD):
        one, other = (each.run(world, times=12) for each in (bench, again))
        assert [r for r in other if not isinstance(r, Event)] == one


def test_after_a_restart_it_is_told_how_old_estimates_are() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(GOOD, times=2)
    bench.run(changed(GOOD, RIDS, changes=K_LOST))
    again = bench.killed()
    found = again.run(GOOD, times=2)
    (event,) = (one for one in found if isinstance(one, Event))
    assert event.title == "estimates of k go on"
    assert event.detail.endswith("so many arrivals ago: RIDS S1 → S2 (k 40 since 2 310)")


def test_two_joins_decide_by_themselves_and_say_which_one_is_meant() -> None:
    bench = Bench(work_of(PAIR), work_of(PAIR))
    found = bench.run(GOOD, waiting_world())
    assert [len(one.used) for one in bench.core.values()] == [1, 0]
    (taken,) = switches(found)
    assert taken.explanation.startswith("q1: RIDS S1 → S2 is taken up")
    assert {one.batch for one in decisions(found)} == {0}


def test_a_join_that_stays_keeps_what_is_known_of_it() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(GOOD, times=2)
    assert bench.turn(k_factor=2.0) == ""
    assert bench.used == ["RIDS S1 → S2"]
    assert bench.join.tuning.factor == 2.0


def test_a_batch_without_arrivals_decides_nothing() -> None:
    bench = Bench(work_of(PAIR))
    assert bench.run(replace(GOOD, arrivals=[0, 0])) == []


@pytest.mark.parametrize(
    ("knob", "value", "allowed"),
    [
        ("loss_budget", 0, r"allowed 1e-06\.\.1 prob"),
        ("loss_budget", 1.5, r"allowed 1e-06\.\.1 prob"),
        ("k_factor", 0.5, r"allowed 1\.\.10"),
        ("constraint_choice", "best", "one of cost, exhaustive, threshold"),
    ],
)
def test_values_that_make_no_sense_are_refused_with_what_is_allowed(
    knob: str, value: object, allowed: str
) -> None:
    with pytest.raises(KnobRefused, match=allowed):
        Bench(work_of(PAIR)).turn(**{knob: value})
