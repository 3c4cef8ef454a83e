"""Changes of many queries that were asked for together are one change of their units."""

from __future__ import annotations

import pytest

from tests.engine_runs import RUN_ID
from tests.unit.engine.test_units import TEXTS, Bench

N = 40
NEW = {f"n{i}": f"Select * From S Where a > {i} and b < {i % 7}" for i in range(N)}


def ask_for_all(run: Bench, is_one_by_one: bool) -> None:
    """Queries that come, one that cannot, one of another unit, and queries that go again."""
    asked = [("query_add", {"name": name, "text": text}) for name, text in NEW.items()]
    asked[17:17] = [
        ("query_add", {"name": "wrong", "text": "Select * From Nowhere"}),
        ("query_add", {"name": "joined", "text": "Select * From T Where a > 3"}),
        ("query_pause", {"name": "late"}),
    ]
    asked += [("query_remove", {"name": name}) for name in [*list(NEW)[::3], "low", "nobody"]]
    for kind, payload in asked:
        run.commands.append_command(RUN_ID, kind, payload, "me", "", 0.0)
        if is_one_by_one:
            run.loop.idle()
    run.loop.idle()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, Bench]:
    """The same requests, one boundary each, and all in one."""
    both = []
    for is_one_by_one in (True, False):
        run = Bench(tmp_path_factory.mktemp("together") / "s.db")
        run.random_batch()
        ask_for_all(run, is_one_by_one)
        both.append(run)
    return both[0], both[1]


def test_each_is_answered_as_if_it_were_alone(runs: tuple[Bench, Bench]) -> None:
    answers = [
        [(c.kind, c.payload["name"], c.state, c.answer) for c in run.reader.commands(RUN_ID, 1000)]
        for run in runs
    ]
    assert answers[0] == answers[1]
    assert {state for _, name, state, _ in answers[1] if name in ("wrong", "nobody")} == {"refused"}


def test_the_same_queries_are_registered(runs: tuple[Bench, Bench]) -> None:
    now = [
        {e.name: e.properties["state"] for e in run.reader.entities(RUN_ID) if e.kind == "query"}
        for run in runs
    ]
    assert now[0] == now[1]
    assert "low" not in now[1]
    assert set(TEXTS) - {"low"} < set(now[1])


def test_a_unit_plans_once_for_what_came_together(runs: tuple[Bench, Bench]) -> None:
    alone, together = (len(run.reader.plans(RUN_ID)) for run in runs)
    assert together < alone / 3


def test_the_runs_go_on_alike(runs: tuple[Bench, Bench]) -> None:
    for run in runs:
        run.random_batch()
    matched = [
        {
            query: one["matched_total"]
            for query, one in run.reader.values(RUN_ID).items()
            if "matched_total" in one
        }
        for run in runs
    ]
    assert matched[0] == matched[1]
