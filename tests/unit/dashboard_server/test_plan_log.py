"""The plan log in the API: what a look decided on, and what the plan cost until the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.api.routes import document
from dashboard.views.planlog import plan_log
from storage.tables.rows import StoredLook
from tests.contract.schema_check import problems
from tests.unit.dashboard_server.site import open_recording
from tests.web.engine_run import UNIT, SelectionRun


@pytest.fixture
def run(tmp_path: Path) -> SelectionRun:
    """A run of the engine under the autopilot, whose stream changes."""
    made = SelectionRun(tmp_path / "run.db", "r1")
    made.ask("knob", {"knob": "policy", "value": "autopilot", "scope": UNIT})
    return made.drift()


def test_entries_are_those_of_the_decisions_on_record(run: SelectionRun) -> None:
    looks = run.reader.looks("r1")
    entries = plan_log(looks)
    assert len(entries) > 1
    decisions = {e.decision.seq: e.decision for e in run.reader.decisions("r1", limit=1000)}
    for entry in entries:
        decision = decisions[entry.decision]
        assert (entry.unit_id, entry.batch) == (UNIT, decision.batch)
        assert entry.switched == (decision.verdict == "switched")
        assert entry.cost_unit == "visits/tuple"
        assert set(entry.statistics) == set(entry.units)
        assert entry.predicted == (
            decision.predicted_new if entry.switched else decision.predicted_old
        )
        order = (decision.new if entry.switched else decision.old)["order"]
        assert entry.form[1] == order
    assert [entry.t for entry in entries] == sorted(entry.t for entry in entries)
    until = run.reader.looks("r1", until=entries[-2].batch)
    assert len(until) < len(looks)
    assert run.reader.looks("r1", unit="asc.nobody") == ()
    run.close()


def test_the_api_answers_as_documented(run: SelectionRun, tmp_path: Path) -> None:
    run.close()
    with open_recording(tmp_path / "run.db") as app:
        answer = app.server.test_client().get("/api/v1/runs/r1/planlog?limit=2").get_json()
    assert len(answer) == 2
    schemas = document()["components"]["schemas"]
    for entry in answer:
        assert list(problems(entry, schemas["PlanLogEntry"], schemas)) == []
        assert entry["deciding"] > 0


def test_what_ran_after_a_look_is_what_its_plan_cost(run: SelectionRun) -> None:
    looks = run.reader.looks("r1")
    entries = plan_log(looks)
    for entry, later in zip(entries, looks[1:], strict=False):
        n, cost = later.record["ran"]
        assert entry.n_tuples == n
        assert entry.measured == (pytest.approx(cost / n) if n else None)
    assert entries[-1].measured is None
    run.close()


def test_a_plan_that_was_replaced_otherwise_has_no_measured_cost() -> None:
    record = {
        "schema": {"statistics": [["drop a", "prob"]], "cost_unit": "us/tuple"},
        **{"began": 0, "t": 10, "statistics": [0.5], "plan": "p", "cost": 2.0, "offers": []},
        **{"plans": {"p": ["a"]}, "deciding": 1.0, "chosen": "p", "region": 1, "ran": [0, 0.0]},
        "replaced": False,
    }
    later = {**record, "replaced": True, "ran": [5, 10.0]}
    (entry, _) = plan_log([StoredLook("u", 1, 1, 0.0, record), StoredLook("u", 2, 2, 1.0, later)])
    assert (entry.n_tuples, entry.measured, entry.switched) == (0, None, False)
    other = {**record, "ran": [5, 10.0]}
    (entry, _) = plan_log([StoredLook("u", 1, 1, 0.0, record), StoredLook("v", 2, 2, 1.0, other)])
    assert entry.measured is None
    (entry, _) = plan_log([StoredLook("u", 1, 1, 0.0, record), StoredLook("u", 2, 2, 1.0, other)])
    assert (entry.n_tuples, entry.measured) == (5, 2.0)
