"""Loops among plan versions: which there are, what they cost, what would have avoided them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.figures.boxes import loop_boxes, loop_numbers
from dashboard.figures.theme import palette
from dashboard.panels.common.loops import advice
from dashboard.views.thrash import FlipLoop, find_loops
from storage.tables.rows import DecisionEntry
from storage.vocabulary.planlog import SURE_SAVING
from storage.vocabulary.records import Decision, DecisionOutcome, PlanVersion


def named(word: str) -> dict[str, object]:
    """A graph that has the names of a plan's steps."""
    return {"nodes": [{"id": f"u/{letter}", "name": letter} for letter in word]}


def plans_of(orders: str, gap: int = 10) -> list[PlanVersion]:
    """A plan each ``gap`` batches, its order the letters of a word; decision 10 x version."""
    return [
        PlanVersion(
            i + 1, i * gap, "early drop", tuple(f"u/{a}" for a in word), named(word), word, "",
            10 * (i + 1), recorded_at=1000.0 + i,
        )
        for i, word in enumerate(orders.split())
    ]  # fmt: skip


def an_entry(seq: int, lhs: float, new: float, old: float, n_sample: int = 100) -> DecisionEntry:
    decision = Decision(
        seq, 0, "asc", "rearrangement", "switched", "visits", lhs, ">=", 0.1, 5000, 100, 1, ""
    )
    outcome = DecisionOutcome(seq, 0, new, 1000, new, old, n_sample)
    return DecisionEntry(decision, 0.0, outcome)


def loops_of(orders: str, window: int = 10_000, *entries: DecisionEntry) -> list[FlipLoop]:
    known = {entry.decision.seq: entry for entry in entries}
    return find_loops(plans_of(orders), lambda batch: 100 * batch, known, window)


@pytest.mark.parametrize(
    ("orders", "flips"),
    [
        ("ab ba", []),
        ("ab ba ab", [[2, 3]]),
        ("ab ba ab ba", [[2, 3, 4]]),
        ("abc bca cab abc", [[2, 3, 4]]),
        ("ab ab ba ba ab", [[3, 5]]),
        ("abc bca abc cab cba cab", [[2, 3], [5, 6]]),
    ],
)
def test_loops_are_chains_that_return(orders: str, flips: list[list[int]]) -> None:
    assert [[flip.plan for flip in loop.flips] for loop in loops_of(orders)] == flips


def test_a_return_after_the_window_is_no_loop() -> None:
    assert loops_of("ab ba ab", 1000)
    assert not loops_of("ab ba ab", 999)


def test_costs_and_what_would_have_avoided_it() -> None:
    loop = loops_of(
        "ab ba ab ba", 9999, an_entry(20, 0.3, 3.5, 3.0), an_entry(30, 0.4, 2.9, 3.0),
        an_entry(40, 0.2, 3.0, 3.0),
    )[0]  # fmt: skip
    assert [flip.cost for flip in loop.flips[:2]] == [pytest.approx(500), pytest.approx(-100)]
    assert (loop.flips[2].cost, loop.flips[2].why) == (None, "still in force")
    assert loop.cost == pytest.approx(400)
    assert (loop.mu, loop.cooldown) == (0.4, 1000)
    assert [flip.waited for flip in loop.flips] == [None, 1000, 1000]
    assert loop.route == "a → b → a → b"


def test_a_loop_of_the_autopilot_has_neither_a_mu_nor_a_cool_down() -> None:
    """Its sides are a saving and a price, in µs: '8570' was advised as a μ."""
    entries = [an_entry(20, 8570.0, 3.5, 3.0), an_entry(30, 4000.0, 3.0, 2.9)]
    looks = [replace(e, decision=replace(e.decision, metric=SURE_SAVING)) for e in entries]
    loop = loops_of("ab ba ab", 9999, *looks)[0]
    assert (loop.mu, loop.cooldown, loop.flips[0].change) == (None, None, None)
    assert advice(loop) == "The record does not show what would have avoided it."


def test_own_turns_are_no_loop() -> None:
    plans, entries = plans_of("ab ba ab"), [an_entry(30, 0.3, 3.5, 3.0)]
    known = {entry.decision.seq: entry for entry in entries}

    def found(turns: set[int]) -> list[FlipLoop]:
        return find_loops(plans, lambda batch: 100 * batch, known, 9999, turns)

    assert found(set())
    assert found({3})
    assert not found({10}), "the plan of batch 10 came with a turn"
    assert found({20}), "that of batch 20 came when the trigger fired"


def test_a_route_names_what_differs() -> None:
    kinds = ("macro", "hybrid", "macro")
    plans = [replace(plan, kind=kinds[i]) for i, plan in enumerate(plans_of("ab ab ab"))]
    loop = find_loops(plans, lambda batch: batch, {}, 9999)[0]
    assert loop.route == "macro → hybrid → macro"


def test_advice_is_given_only_where_the_loop_lost() -> None:
    lost = FlipLoop([], None, None, "a → b → a", 0.4, 1000, 500.0)
    assert "A μ above 0.4" in advice(lost)
    assert "avoided" not in advice(lost._replace(cost=-1700.0))
    assert "avoided" not in advice(lost._replace(cost=None))


def test_numbers_on_thin_samples_or_without_a_record_are_withheld() -> None:
    loop = loops_of("ab ba ab", 9999, an_entry(20, 0.3, 3.5, 3.0, n_sample=7))[0]
    assert loop.flips[0].why == "not enough samples (n=7 < 30)"
    assert loop.flips[1].why == "not measured"
    assert (loop.mu, loop.cost) == (None, None)


def test_each_loop_has_a_numbered_box() -> None:
    loops = loops_of("ab ba ab")
    box = loop_boxes(loops, palette("light"))[0]
    assert (box["x0"], box["x1"]) == ("1970-01-01T00:16:41.000Z", "1970-01-01T00:16:42.000Z")
    assert "1" in loop_numbers(loops, 0.2, palette("light"))[0]["text"]
