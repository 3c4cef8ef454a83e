"""What is decided on joins under k-constraints, on batches that are told by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from backend.model.conditions import DeclaredConstraint
from backend.operators.network.kmon.tuning import UNKNOWN_K, KChange
from backend.systems.kmon.choosing import ConstraintProblem, margin
from tests.unit.kmon.cases import (
    GOOD,
    GRAPH_A,
    K_LOST,
    PAIR,
    POOR,
    RIDS,
    TWO_ROOTS,
    Bench,
    World,
    Worth,
    changed,
    checked,
    decisions,
    outcomes,
    switches,
    waiting_world,
    work_of,
)


def words(found: Iterable[object]) -> str:
    return "\n".join(one.explanation for one in switches(found))


def test_before_any_k_is_known_nothing_is_used_and_all_is_watched() -> None:
    bench = Bench(work_of(PAIR))
    assert [(one.is_used, one.is_watched) for one in bench.join.tuning.constraints] == [
        (False, True)
    ] * 4
    (thin,) = checked(bench.run(waiting_world()))
    assert thin.verdict == "thin"
    assert bench.used == []


def test_a_constraint_that_saves_more_than_it_costs_is_taken_up() -> None:
    bench = Bench(work_of(PAIR))
    (taken,) = checked(bench.run(GOOD))
    assert taken.verdict == "switched"
    assert taken.detail["constraint"] == "RIDS S1 → S2"
    assert taken.new["order"] == ["RIDS S1 → S2"]
    assert bench.used == ["RIDS S1 → S2"]
    assert checked(bench.run(GOOD, times=20))[-1].verdict == "below_threshold"
    assert bench.used == ["RIDS S1 → S2"]


def test_an_outcome_tells_bytes_after_it_against_those_without() -> None:
    """What was saved counts as held but for the keys, which are in memory with loss = never."""
    bench = Bench(work_of(PAIR))
    found = bench.run(GOOD, times=3)
    (taken,) = switches(found)
    (outcome,) = outcomes(found)
    held = (20_000 + 1000 + 1000) * 24 + 500 * 8 + 9000 * 12
    assert outcome.decision == taken.seq
    assert outcome.actual_new == held
    assert outcome.counterfactual_old == held + 9000 * (24 - 12)
    assert outcome.n == 1200


def test_a_constraint_that_costs_more_than_it_saves_is_dropped_and_comes_back() -> None:
    bench = Bench(work_of(PAIR))
    found = bench.run(GOOD, times=5)
    while bench.used:
        found += bench.run(POOR)
    assert "dropped" in switches(found)[-1].explanation
    assert not bench.join.tuning.constraints[0].is_watched, "it rests"
    found += bench.run(POOR, times=40)
    assert bench.used == []
    found += bench.run(GOOD, times=60)
    assert bench.used == ["RIDS S1 → S2"]
    checked(found)


def test_what_was_given_up_waits_longer_each_time_and_is_told_once() -> None:
    """By its estimate it would pay, each time it is used it does not: waits double."""
    bench = Bench(work_of(PAIR))
    trap = replace(GOOD, worth={RIDS: Worth(k=40, saved=0)}, monitor_ns=100_000)
    found = bench.run(trap, times=200)
    waits = [one.detail["wait"] for one in switches(found) if "dropped" in one.explanation]
    assert waits[:4] == [1000, 2000, 4000, 8000]
    told = [one for one in decisions(found) if one.verdict == "cooldown"]
    assert len(told) == len(waits)
    checked(found)


def test_a_declared_constraint_is_used_at_once() -> None:
    known = DeclaredConstraint("RIDS", 7, "S1", "S2")
    bench = Bench(work_of(PAIR), constraints=[known])
    assert bench.used == ["RIDS S1 → S2"]
    assert bench.join.tuning.constraints[0].declared == 7


def test_only_declared_constraints_are_watched_where_nothing_else_may_be_used() -> None:
    known = DeclaredConstraint("RIDS", 7, "S1", "S2")
    bench = Bench(work_of(PAIR), knobs={"constraints": "declared"}, constraints=[known])
    assert [one.id.type for one in bench.join.tuning.constraints] == ["RIDS"]
    assert bench.turn(constraints="off") == "no longer used: RIDS S1 → S2"
    assert bench.join.tuning.constraints == ()


@pytest.mark.parametrize(
    ("mode", "loss", "is_used", "declared", "said"),
    [
        ("monitored", "never", True, UNKNOWN_K, "it is estimated from now on"),
        ("monitored", "budget", True, UNKNOWN_K, "it is estimated from now on"),
        ("declared", "never", True, 7, "nothing is lost by it"),
        ("declared", "budget", False, 7, "it is not used any more"),
    ],
)
def test_a_declared_k_that_does_not_hold_is_refuted(
    mode: str, loss: str, is_used: bool, declared: int, said: str
) -> None:
    known = DeclaredConstraint("RIDS", 7, "S1", "S2")
    knobs = {"constraints": mode, "loss": loss}
    bench = Bench(work_of(PAIR), knobs=knobs, constraints=[known])
    found = bench.run(changed(GOOD, RIDS, largest=12))
    (refuted,) = decisions(found, "declared k")
    assert (refuted.lhs, refuted.relation, refuted.rhs) == (12, ">", 7)
    assert refuted.explanation.endswith(said)
    tuning = bench.join.tuning.constraints[0]
    assert (tuning.is_used, tuning.declared) == (is_used, declared)
    again = bench.run(changed(GOOD, RIDS, largest=13))
    assert not decisions(again, "declared k"), "it is told once"
    checked(found)


def test_changes_of_k_are_decisions_with_both_sides() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(GOOD, times=3)
    found = checked(bench.run(changed(GOOD, RIDS, changes=K_LOST)))
    lost, found_again = (one for one in found if one.kind == "k of a constraint")
    assert (lost.lhs, lost.relation, lost.rhs) == (60, ">", 40)
    assert lost.explanation == "RIDS S1 → S2: k 40 becomes no k, a distance of 60 was observed"
    assert (found_again.lhs, found_again.relation, found_again.rhs) == (40, "<", None)
    assert found_again.explanation == "RIDS S1 → S2: no k becomes k 40, as 100 observations say"


def test_k_of_a_constraint_that_is_not_used_changes_without_a_decision() -> None:
    bench = Bench(work_of(PAIR))
    found = bench.run(waiting_world(CA=Worth(changes=K_LOST)))
    assert not decisions(found, "k of a constraint")


def test_many_changes_in_a_batch_are_told_together_in_the_end() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(GOOD)
    lost_and_found = ((2, -1), (-1, 2))
    many = tuple(KChange(n, n, *lost_and_found[n % 2], 3, 9) for n in range(40))
    found = decisions(bench.run(changed(GOOD, RIDS, changes=many)), "k of a constraint")
    assert len(found) == 16
    assert found[-1].detail["change"] == list(many[-1])
    assert found[-1].detail["n_left"] == 24


def test_a_k_that_only_becomes_another_is_one_decision_and_no_other_plan() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(GOOD)
    many = tuple(KChange(n, n, 1 + n, 2 + n, 2 + n, 9) for n in range(40))
    (found,) = decisions(bench.run(changed(GOOD, RIDS, changes=many)), "k of a constraint")
    assert (found.verdict, found.lhs, found.relation, found.rhs) == ("kept", 41, ">", 1)


def test_a_constraint_whose_k_is_lost_again_and_again_waits() -> None:
    bench = Bench(work_of(PAIR))
    bench.run(GOOD, times=3)
    losing = changed(GOOD, RIDS, changes=K_LOST)
    found = bench.run(losing, times=2)
    assert bench.used == ["RIDS S1 → S2"]
    found += bench.run(losing)
    (waits,) = decisions(found, "k lost repeatedly")
    assert (waits.lhs, waits.relation, waits.rhs) == (3, ">=", 3)
    assert bench.used == []
    later = bench.run(GOOD, times=1)
    assert bench.used == []
    later += bench.run(GOOD, times=2)
    assert bench.used == ["RIDS S1 → S2"]
    checked([*found, *later])


def test_by_the_threshold_all_constraints_of_small_k_are_used() -> None:
    worth = {"RIDS 0 1": Worth(k=40), "CA 0.0": Worth(k=900)}
    world = replace(POOR, worth=worth)
    knobs = {"constraint_choice": "threshold", "k_threshold": 100}
    bench = Bench(work_of(PAIR), knobs=knobs)
    assert len(bench.used) == 4
    assert bench.join.tuning.threshold == 100
    (look,) = checked(bench.run(world))
    assert (look.lhs, look.relation, look.rhs) == (40, ">", 100)
    assert bench.join.working == {"RIDS 0 1"}


def test_by_the_threshold_a_constraint_that_has_waited_is_taken_up_by_a_decision() -> None:
    bench = Bench(work_of(PAIR), knobs={"constraint_choice": "threshold"})
    found = bench.run(changed(GOOD, RIDS, changes=K_LOST), times=3)
    assert "RIDS S1 → S2" not in bench.used
    found += bench.run(GOOD, times=3)
    assert "RIDS S1 → S2" in bench.used
    assert "it has waited for long enough" in words(found)
    checked(found)


def test_a_larger_k_than_the_threshold_is_not_chosen() -> None:
    bench = Bench(work_of(PAIR), knobs={"k_threshold": 39})
    checked(bench.run(GOOD, times=3))
    assert bench.used == []


def test_pinned_constraints_are_used_whatever_they_bring_and_forbidden_ones_are_not() -> None:
    bench = Bench(work_of(PAIR), knobs={"pinned_constraints": "CA S1.A; OAP S1.A"})
    assert bench.used == ["CA S1.A", "OAP S1.A"]
    poor = replace(POOR, worth={"CA 0.0": Worth(k=9000), "RIDS 0 1": Worth(40, 9000)})
    checked(bench.run(poor, times=30))
    assert "CA S1.A" in bench.used
    said = bench.turn(pinned_constraints="", forbidden_constraints="RIDS S1 → S2;CA S1.A of q1")
    assert said == "no longer used: CA S1.A"
    checked(bench.run(GOOD, times=5))
    assert "RIDS S1 → S2" not in bench.used
    assert bench.join.tuning.constraints[0].is_watched


def test_a_constraint_that_loses_more_results_than_may_be_is_given_up() -> None:
    bench = Bench(work_of(PAIR), knobs={"loss": "budget", "loss_budget": 0.01})
    found = bench.run(changed(GOOD, RIDS, lost=5), times=3)
    assert bench.used == ["RIDS S1 → S2"]
    found += bench.run(changed(GOOD, RIDS, lost=200))
    assert bench.used == []
    (over,) = decisions(found, "loss budget")
    assert over.lhs == pytest.approx((5 + 5 + 200) / 4000)
    assert over.rhs == 0.01
    checked(found)


def test_a_child_goes_only_once_all_its_parents_are_covered() -> None:
    """CA of one parent saves nothing by itself; with that of the other one both are taken up."""
    one = {"CA 0.1": Worth(k=10, saved=2000)}
    world = World([500, 500, 100], [0, 0, 30_000], [0, 0, 0], [0, 0, 0], one)
    bench = Bench(work_of(TWO_ROOTS), knobs={"constraint_choice": "exhaustive"})
    columns = bench.join.view.candidates
    first, second = (k for k in columns if k.startswith("CA"))
    checked(bench.run(replace(world, worth={first: Worth(k=10, saved=2000)}), times=3))
    assert bench.used == []
    both = {first: Worth(k=10, saved=9000), second: Worth(k=10, saved=9000)}
    found = checked(bench.run(replace(world, worth=both)))
    assert [one.verdict for one in found] == ["switched"] * 2
    assert bench.used == [columns[first].name, columns[second].name]


def test_no_of_a_child_is_not_given_up_where_late_parents_would_wait_too_long() -> None:
    """Fig. 6.18 of the text: RIDS(k) beside CA. With a large k late parents of children in No wait
    for longer than No is large."""
    no = World([200, 100], [0, 2000], [50, 0], [0, 8000])
    small, large = (replace(no, worth={RIDS: Worth(k=k)}) for k in (10, 10_000))
    bench = Bench(work_of(PAIR))
    bench.run(small)
    assert bench.used == ["RIDS S1 → S2"]
    bench = Bench(work_of(PAIR))
    bench.run(replace(large, yes=[50_000, 2000]))
    assert bench.used == []


def test_both_sides_of_a_choice_follow_from_the_problem_it_records() -> None:
    bench = Bench(work_of(GRAPH_A))
    worth = {"RIDS 0 1": Worth(40, 900), "OAC 1.0": Worth(3, 50), "CA 0.1": Worth(0, 10)}
    world = World([500, 100, 90], [900, 800, 700], [6000, 0, 0], [0, 90, 80], worth)
    found = decisions(bench.run(world, times=30), "constraint choice")
    priced = [one for one in found if "problem" in one.detail]
    assert priced
    for one in priced:
        problem = ConstraintProblem.from_json(one.detail["problem"])
        saved, cost = margin(problem, one.detail["after"], one.detail["key"])
        assert one.lhs == pytest.approx(saved)
        assert one.rhs == pytest.approx(cost * one.detail["weights"][one.detail["key"]])
        assert one.detail["choices"]["costs"].keys() == {"cost", "exhaustive", "threshold"}


def test_a_constraint_that_is_never_worth_it_rests_and_is_looked_at_again() -> None:
    bench = Bench(work_of(PAIR))
    poor = replace(POOR, worth={RIDS: Worth(k=40)})
    found, watched = list[object](), list[bool]()
    for _ in range(60):
        found += bench.run(poor)
        watched.append(bench.join.tuning.constraints[0].is_watched)
    rests = [one.detail["resting"] for one in decisions(found) if one.detail.get("resting")]
    assert rests == [{RIDS: 1000 * 2**n} for n in range(5)]
    assert True in watched[watched.index(False) :], "it is looked at again"
    bench.run(GOOD, times=3)
    assert bench.used == ["RIDS S1 → S2"], "what is known of it counts while it rests"
    checked(found)
