"""What is recorded of a selection of caches follows from the table in its record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from backend.systems.joins.decide import selecting
from storage.vocabulary.records import Decision
from tests.unit.joins.running import TunedJoin
from tests.unit.joins.test_controller import SETTINGS, arrivals, decisions, run


def cost_by_table(decision: Decision, which: str) -> float:
    """The cost of the join with the readers marked as ``which``."""
    found: float = decision.detail["choices"]["costs"]["off"]
    for cache in decision.detail["caches"]:
        benefits = [reader["benefit"] for reader in cache["readers"] if reader[which]]
        found -= sum(benefits) - cache["cost"] * bool(benefits)
    return found


def test_a_cache_that_is_let_go_is_priced_before_what_it_missed_is_forgotten() -> None:
    join = run(SETTINGS, (20, (1, 1, 12)), (15, (6, 1, 6)), (15, (1, 1, 12)))
    chosen = [one for one in decisions(join) if one.kind == "cache selection"]
    gone = [one for one in chosen if set(one.old["order"]) - set(one.new["order"])]
    assert gone
    for one in chosen:
        assert one.predicted_old == pytest.approx(cost_by_table(one, "used_before"))
        assert one.predicted_new is not None
        assert one.predicted_new == pytest.approx(cost_by_table(one, "chosen"))
        costs = one.detail["choices"]["costs"]
        assert one.detail["choices"]["now"] == one.predicted_old
        assert costs["exact"] >= one.predicted_new * (1 - 1e-9) or one.verdict != "switched"


def test_caches_in_use_are_kept_where_greedy_finds_dearer_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A greedy way that finds nothing stands for one that finds less than is in use."""
    join = run(SETTINGS, (20, (1, 1, 12)))
    assert join.used == ["R ⋈ S"]
    monkeypatch.setitem(selecting.SELECTORS, "greedy", lambda problem: {})
    join.turn(replace(SETTINGS, caching="greedy", change_share=0.0))
    more(join, 20)
    assert join.used == ["R ⋈ S"]
    kept = [one for one in decisions(join) if one.verdict == "kept"]
    assert kept
    for one in kept:
        assert one.predicted_new is not None
        assert one.predicted_old is not None
        assert one.lhs == one.predicted_new > one.predicted_old == one.rhs
        assert (one.old["order"], one.new["order"]) == (["0,1|1"], [])
        assert one.explanation.startswith("caches kept: those that greedy finds (none) cost more, ")


def more(join: TunedJoin, n_batches: int) -> None:
    rng = np.random.default_rng(9)
    for _ in range(n_batches):
        join.batch(arrivals(rng, 100, (1, 1, 12)))
