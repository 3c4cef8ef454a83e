"""States that do not wait for their turn: what is searched meanwhile, and how often they come."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.eddy.tuning import StateReport
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.eddy import EddyOp
from backend.systems.amri.overdue import FEWEST, ended_early
from backend.systems.amri.states import StateIndex
from bench.experiments.amri_running import EddyLane
from bench.joins_data import ChainPhase, chained, phased
from bench.joins_lanes import FixedLane, JoinLane, join_turns
from tests.unit.amri.running_eddies import knobs_of

#: No turn, and no look for changed states, comes.
NEVER: Final[dict[str, object]] = {"period_requests": 10**9, "trigger_requests": 10**9}
AT_ONCE: Final = 10_000_000


def compared(knobs: Mapping[str, object]) -> list[float]:
    """By batch the tuples that an element of a chain of three streams has compared, the last one of
    which comes often; found is what the join of STREAM finds."""
    phase = ChainPhase("", (1, 1, 20), (20_000, 20_000), 1000)
    arrivals = phased([phase], 40_000, (20_000, 20_000, 50), np.random.default_rng(1))
    work, own = chained(3), knobs_of(index_bits=14, migration_us=AT_ONCE, **NEVER, **knobs)
    eddy = EddyLane(EddyOp(work.equal), arrivals.widths, own, own, 0)
    orders = JoinTuning(orders=((1, 2), (0, 2), (1, 0)))
    lanes: dict[str, JoinLane] = {"": FixedLane(work, arrivals.widths, orders), "eddy": eddy}
    took = join_turns(lanes, arrivals, 2000)["eddy"]
    assert sum(one.answered.n for one in took) > 40
    return [one.operations.scans / one.operations.n_arrivals for one in took]


@pytest.mark.parametrize(("access", "most"), [("bitmap", 0.05), ("portfolio", 0.002)])
def test_what_no_bits_are_for_is_not_scanned_until_a_turn_comes(access: str, most: float) -> None:
    """An even split is of no use for what nearly all requests to the second stream ask by."""
    waits = compared({"access": access, "selection": "window"})
    early = compared({"access": access})
    assert waits[-1] > 1000
    assert early[0] == waits[0]
    assert early[-1] < most * waits[-1]


def test_only_what_follows_savings_does_not_wait() -> None:
    for knobs, pinned in (
        ({"selection": "window"}, None),
        ({"selection": "off"}, None),
        ({"tuning_schedule": "off"}, None),
        ({"access": "scan"}, None),
        ({}, (8, 4)),
        ({}, None),
    ):
        state = StateIndex(["a", "b"])
        state.turn(knobs_of(**NEVER, **knobs), pinned)
        batches = [(2 * FEWEST, 100)] * 2
        assert any(searched(state, batches)) == (not knobs and pinned is None)


def searched(state: StateIndex, batches: list[tuple[int, int]]) -> list[bool]:
    """After which batches its assessment ended. batches: requests, codes that each of them read."""
    ended = []
    for n_requests, n_codes in batches:
        n = n_requests * n_codes
        report = StateReport(10, 0, (), 0, 0, (10,), 10, 16)
        state.observe(1, {1: (n_requests, 0, n, 0, n)} if n_requests else {}, report)
        ended.append(bool(ended_early([state])))
        if ended[-1]:
            state.select()
    return ended


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 400)), max_size=30))
def test_selections_come_as_often_as_work_doubles(batches: list[tuple[int, int]]) -> None:
    """Wherever an assessment has enough requests, no state has spent more than before without one;
    and there are no more than so many."""
    state, total, before = StateIndex(["a", "b"]), 0, 0
    state.turn(knobs_of(**NEVER), None)
    ended = searched(state, batches)
    for (n_requests, n_codes), is_over in zip(batches, ended, strict=True):
        total += n_requests * n_codes
        assert not is_over or total > 2 * before
        if n_requests >= FEWEST and n_requests * n_codes > 2000 and total > 2 * before:
            assert is_over
        before = total if is_over else before
    if any(ended):
        assert sum(ended) <= 1 + math.log2(total / FEWEST)
