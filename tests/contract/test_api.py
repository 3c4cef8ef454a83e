"""What the API says about a run, and what it refuses."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from dashboard.api import changing
from dashboard.serving.settings import Settings
from dashboard.web.app import create_app
from dashboard.web.server import close_services, open_services
from storage.reading.sql import MOST_AT_ONCE
from tests.unit.dashboard_server.site import BEARER, Site, csrf, open_site, record

RUN = "/api/v1/runs/r1"
MU = {"knob": "mu", "value": 0.2, "scope": "asc.Flights"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """As ``site``, but shared: for tests whose requests change nothing."""
    with open_site(tmp_path_factory.mktemp("quiet")) as opened:
        yield opened


def get(site: Site, path: str) -> Any:
    answer = site.browser().get(path)
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def turn(site: Site, knob: str, value: Any, **more: Any) -> TestResponse:
    body = {"knob": knob, "value": value, **more}
    return site.browser().post(f"{RUN}/commands", json=body, headers=BEARER)


def error_of(answer: TestResponse) -> dict[str, Any]:
    error: dict[str, Any] = answer.get_json()["error"]
    assert error["message"].endswith(".")
    return error


def test_plans_are_newest_last_with_their_order_by_attribute(site: Site) -> None:
    for _ in range(60):
        site.recording.write()
    plans = get(site, f"{RUN}/plans")
    assert [plan["version"] for plan in plans] == [1, 2]
    assert plans[-1]["order"] == site.recording.order
    assert plans[-1]["batch"] == 60
    assert "visits per tuple moved" in plans[-1]["reason"]
    assert [plan["version"] for plan in get(site, f"{RUN}/plans?until=59")] == [1]


def test_decisions_carry_their_outcome_and_page_back(site: Site) -> None:
    for _ in range(60):
        site.recording.write()
    decisions = get(site, f"{RUN}/decisions")
    assert [d["seq"] for d in decisions] == sorted(d["seq"] for d in decisions)
    assert decisions[-1]["verdict"] == "switched"
    assert decisions[-1]["outcome"]["counterfactual_old"] == 3.9
    assert decisions[0]["outcome"] is None
    earlier = get(site, f"{RUN}/decisions?before={decisions[-1]['seq']}&limit=2")
    assert [d["seq"] for d in earlier] == [d["seq"] for d in decisions[-3:-1]]
    assert len(get(site, f"{RUN}/decisions?verdict=switched")) == 1


def test_samples_are_points_with_unit(quiet: Site) -> None:
    series = get(quiet, f"{RUN}/samples?entity=system&property=batch_ms&since=1")
    assert (series["unit"], series["thinned"]) == ("ms", False)
    assert [point["batch"] for point in series["points"]] == [1, 2]


def test_unknown_values_are_null(quiet: Site) -> None:
    matrix = get(quiet, f"{RUN}/matrices/selectivity?at=2")
    assert (matrix["kind"], matrix["batch"]) == ("selectivity", 0)
    assert any(value is None for row in matrix["values"] for value in row)


def test_a_knob_goes_from_requested_to_applied(site: Site) -> None:
    asked = turn(site, "mu", 0.2, reason="calmer")
    assert asked.status_code == 202
    command = asked.get_json()
    assert (command["state"], command["payload"]) == ("requested", MU)
    site.answer_commands()
    applied = get(site, f"{RUN}/commands/{command['id']}")
    assert (applied["state"], applied["applied_batch"]) == ("applied", 3)
    assert (applied["reason"], applied["old_value"]) == ("calmer", 0.1)
    knobs = {knob["name"]: knob["value"] for knob in get(site, f"{RUN}/knobs")}
    assert knobs["mu"] == 0.2
    assert get(site, f"{RUN}/commands") == [applied]


def test_a_turn_whose_forecast_cannot_be_made_is_requested_without(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*asked: object) -> None:
        raise ArithmeticError("no evaluation has two sides")

    monkeypatch.setattr(changing, "forecast", fails)
    asked = turn(site, "mu", 0.2)
    assert (asked.status_code, asked.get_json()["payload"]) == (202, MU)


@pytest.mark.parametrize(
    ("knob", "value", "words"),
    [
        ("mu", 11, "mu = 11 refused: allowed 0.001..10."),
        ("mu", "0.2", "mu = '0.2' refused"),
        ("mu", True, "mu = True refused"),
        ("mu", None, "mu = None refused"),
        ("mu", 10**400, "refused"),
        ("tau_tuples", 10.5, "allowed whole numbers 10..100000 tuples."),
        ("trigger", "guess", "allowed one of visits, dropping ratio, either."),
        ("store_rejected", "yes", "allowed true or false."),
    ],
)
def test_a_value_out_of_range_is_told_the_range_and_is_in_the_log(
    site: Site, knob: str, value: Any, words: str
) -> None:
    answer = turn(site, knob, value)
    assert answer.status_code == 422
    error = error_of(answer)
    assert words in error["message"]
    assert set(error["allowed"]) == {"kind", "low", "high", "choices", "unit"}
    (kept,) = get(site, f"{RUN}/commands")
    assert (kept["state"], kept["answer"]) == ("refused", error["message"])
    assert (kept["actor"], kept["payload"]["knob"]) == ("api 127.0.0.1", knob)
    is_number = type(value) in (int, float) and abs(value) < 1e9
    assert kept["payload"]["value"] == (value if is_number or value is True else str(value))
    assert site.writer.pending_commands("r1") == ()


@pytest.mark.parametrize(("knob", "value"), [("tau_tuples", 500.0), ("trigger", "either")])
def test_an_allowed_value_is_kept_in_the_knobs_type(site: Site, knob: str, value: Any) -> None:
    payload = turn(site, knob, value).get_json()["payload"]
    assert payload == {"knob": knob, "value": value, "scope": "asc.Flights"}
    assert isinstance(payload["value"], str if knob == "trigger" else int)


def test_an_unknown_knob_is_told_which_there_are(quiet: Site) -> None:
    answer = turn(quiet, "nu", 1)
    assert answer.status_code == 404
    assert "Knobs: lambda_tuples, mu, " in error_of(answer)["message"]


def test_a_stale_version_is_a_conflict(site: Site) -> None:
    assert turn(site, "mu", 0.2, expected_version=0).status_code == 202
    site.answer_commands()
    answer = turn(site, "mu", 0.3, expected_version=0)
    assert answer.status_code == 409
    error = error_of(answer)
    assert (error["code"], error["value"], error["version"]) == ("stale", 0.2, 1)
    _, refused = get(site, f"{RUN}/commands")
    assert (refused["state"], refused["answer"]) == ("refused", error["message"])
    assert (refused["payload"], refused["answered_at"]) == (
        {**MU, "value": 0.3},
        refused["requested_at"],
    )
    assert turn(site, "mu", 0.3, expected_version=1).status_code == 202


def test_an_ended_run_cannot_be_changed(site: Site) -> None:
    site.writer.set_state("r1", "ended", "", 1.0)
    for answer in (
        turn(site, "mu", 0.2),
        site.browser().delete(f"{RUN}/queries/fog", headers=BEARER),
    ):
        assert answer.status_code == 409
        assert error_of(answer)["state"] == "ended"


def test_the_page_changes_things_with_its_csrf_token(site: Site) -> None:
    browser = site.browser()
    headers = csrf(browser)
    answer = browser.post(f"{RUN}/commands", json={"knob": "mu", "value": 0.2}, headers=headers)
    assert answer.status_code == 202
    assert answer.get_json()["actor"] == "page 127.0.0.1"
    thief = site.browser()
    csrf(thief)
    stolen = thief.post(f"{RUN}/commands", json={"knob": "mu", "value": 0.2}, headers=headers)
    assert stolen.status_code == 401


def add(site: Site, name: str, text: str = "Select * From Flights") -> TestResponse:
    body = {"name": name, "text": text}
    return site.browser().post(f"{RUN}/queries", json=body, headers=BEARER)


@pytest.mark.parametrize("name", ["", " ", "..", "x" * 101, "a/b", "a\\b", "a\nb"])
def test_a_bad_query_name_is_refused(quiet: Site, name: str) -> None:
    answer = add(quiet, name)
    assert answer.status_code == 422
    assert error_of(answer)["code"] == "bad_name"


@pytest.mark.parametrize("name", ["9 lives", "späť", "-q", "遅延 50 %", "🚆" * 100])
def test_a_name_that_a_file_may_give_may_be_given_here(site: Site, name: str) -> None:
    assert add(site, name).status_code == 202


@pytest.mark.parametrize("text", ["", "  \n", "x" * 8001])
def test_a_bad_query_text_is_refused(quiet: Site, text: str) -> None:
    assert add(quiet, "q_new", text).status_code == 422


def test_a_query_name_is_taken_by_a_query_or_a_request(site: Site) -> None:
    assert add(site, "fog").status_code == 409
    assert add(site, "q_new").status_code == 202
    assert add(site, "q_new").status_code == 409
    assert site.browser().delete(f"{RUN}/queries/q_new", headers=BEARER).status_code == 202
    assert add(site, "q_new").status_code == 202


def test_queries_are_listed_paused_and_removed_by_name(site: Site) -> None:
    names = [query["name"] for query in get(site, f"{RUN}/queries")]
    assert "fog" in names
    browser = site.browser()
    paths = [("POST", "/fog/pause"), ("POST", "/fog/resume"), ("DELETE", "?name=fog&reason=no")]
    kinds = []
    for method, path in paths:
        answer = browser.open(f"{RUN}/queries{path}", method=method, headers=BEARER)
        kinds.append((answer.status_code, answer.get_json()["kind"]))
    assert kinds == [(202, "query_pause"), (202, "query_resume"), (202, "query_remove")]
    assert browser.post(f"{RUN}/queries/nope/pause", headers=BEARER).status_code == 404
    assert browser.delete(f"{RUN}/queries", headers=BEARER).status_code == 422


def test_a_run_is_held_stepped_and_goes_on_by_requests(site: Site) -> None:
    browser = site.browser()
    asked = {}
    for path in ("hold?reason=lunch", "step", "step?of=decision", "go-on"):
        answer = browser.post(f"{RUN}/{path}", headers=BEARER)
        command = answer.get_json()
        asked[path] = (answer.status_code, command["kind"], command["payload"], command["reason"])
    assert asked == {
        "hold?reason=lunch": (202, "hold", {}, "lunch"),
        "step": (202, "step", {"of": "batch"}, ""),
        "step?of=decision": (202, "step", {"of": "decision"}, ""),
        "go-on": (202, "go_on", {}, ""),
    }
    refused = browser.post(f"{RUN}/step?of=year", headers=BEARER)
    assert refused.status_code == 422
    assert refused.get_json()["error"]["allowed"] == ["batch", "decision"]
    assert browser.post(f"{RUN}/hold").status_code == 401


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/v1/nothing", 404, "not_found"),
        ("/api/nothing", 404, "not_found"),
        (f"{RUN}/commands/99", 404, "not_found"),
        (f"{RUN}/commands/first", 404, "not_found"),
        (f"{RUN}/decisions/99", 404, "not_found"),
        (f"{RUN}/matrices/none", 404, "not_found"),
        (f"{RUN}/results?query=none", 404, "not_found"),
        (f"{RUN}/samples?entity=system", 422, "bad_parameter"),
        (f"{RUN}/samples?entity=system&property=mood", 404, "not_found"),
        (f"{RUN}/knobs?at=now", 422, "bad_parameter"),
        (f"{RUN}/knobs?at=-2", 422, "bad_parameter"),
        (f"{RUN}/batches?since=5&until=2", 422, "bad_parameter"),
        (f"{RUN}/batches?limit=1000000", 422, "bad_parameter"),
        (f"{RUN}/batches?sice=1", 422, "bad_parameter"),
        ("/live?run=none", 404, "not_found"),
        ("/live", 422, "bad_parameter"),
        ("/assets/none.js", 404, "not_found"),
    ],
)
def test_errors_are_json_with_a_code_and_a_sentence(
    quiet: Site, path: str, status: int, code: str
) -> None:
    answer = quiet.browser().get(path)
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)


def test_a_wrong_method_is_told_the_right_ones(quiet: Site) -> None:
    answer = quiet.browser().delete(f"{RUN}/plans", headers=BEARER)
    assert answer.status_code == 405
    assert error_of(answer)["code"] == "method_not_allowed"
    assert "GET" in answer.headers["Allow"]


def test_a_broken_store_is_a_503_and_an_unhealthy_dashboard(site: Site, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute("ALTER TABLE commits RENAME TO gone")
        connection.execute("ALTER TABLE runs RENAME TO gone_too")
    connection.close()
    answer = site.browser().get("/api/v1/runs")
    assert (answer.status_code, error_of(answer)["code"]) == (503, "store_unavailable")
    assert answer.headers["Retry-After"] == "2"
    assert site.browser().get("/healthz").status_code == 503


def test_a_missing_store_is_made_and_shows_the_run_that_comes(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "new" / "runs.db"), "a-token-for-these-tests")
    services = open_services(settings)
    browser = create_app(services).server.test_client()
    assert browser.get("/api/v1/runs").get_json() == []
    assert "planwatch_sse_clients 0" in browser.get("/metrics").text
    record(tmp_path / "new" / "runs.db", 1)
    assert [run["id"] for run in browser.get("/api/v1/runs").get_json()] == ["r1"]
    close_services(services)


def test_a_branch_is_asked_of_an_engine_at_work(site: Site) -> None:
    body = {"at": 1, "knob": "mu", "value": 0.2, "scope": "asc.Flights", "reason": "a try"}
    post = site.browser().post
    assert post(f"{RUN}/branches", json=body).status_code == 401
    asked = post(f"{RUN}/branches", json=body, headers=BEARER)
    assert asked.status_code == 202
    command = asked.get_json()
    payload = {"run": "r1", "at": 1, "knob": "mu", "value": 0.2, "scope": "asc.Flights"}
    assert (command["run_id"], command["kind"], command["payload"]) == ("r1", "branch", payload)
    assert (command["state"], command["reason"]) == ("requested", "a try")
    for wrong, status in (({"at": 99}, 422), ({"value": -1}, 422), ({"knob": "nu"}, 404)):
        refused = post(f"{RUN}/branches", json=body | wrong, headers=BEARER)
        assert refused.status_code == status
        assert error_of(refused)
    site.recording.writer.set_state("r1", "ended", "", 0.0)
    refused = post(f"{RUN}/branches", json=body, headers=BEARER)
    assert refused.status_code == 409
    said = (
        "typed in a terminal, python3 run.py branch --at=1 --set=mu=0.2 --unit=asc.Flights --store="
    )
    assert said in error_of(refused)["message"]


def test_a_query_that_finds_no_place_is_to_come_again(quiet: Site) -> None:
    """Queries of people never take all threads of the pages; what ends gives its place back."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    is_seen = threading.Event()

    def ask(text: str) -> TestResponse:
        return quiet.browser().get("/api/v1/sql", query_string={"text": text})

    def take_a_place() -> None:
        while not is_seen.is_set():
            assert ask(endless).status_code in (422, 503)

    with ThreadPoolExecutor(MOST_AT_ONCE) as others:
        takers = [others.submit(take_a_place) for _ in range(MOST_AT_ONCE)]
        try:
            answers = (ask("SELECT 1") for _ in range(1_000))
            busy = next(answer for answer in answers if answer.status_code == 503)
        finally:
            is_seen.set()
        for taker in takers:
            taker.result()
    assert (error_of(busy)["code"], busy.headers["Retry-After"]) == ("busy", "2")
    assert ask("SELECT 1").status_code == 200


def test_entities_come_in_pages(quiet: Site) -> None:
    whole = get(quiet, f"{RUN}/entities")
    paged: list[dict[str, Any]] = []
    while page := get(quiet, f"{RUN}/entities?limit=3&after={paged[-1]['id'] if paged else ''}"):
        assert len(page) <= 3
        paged += page
    assert paged == whole
    assert len(whole) > 6
    assert get(quiet, f"{RUN}/queries?limit=2") == [e for e in whole if e["kind"] == "query"][:2]
    assert [plan["version"] for plan in get(quiet, f"{RUN}/plans?limit=1")] == [1]
