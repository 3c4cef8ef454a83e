"""Every route is in the OpenAPI document, every answer is what the document says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dash
import pytest

from dashboard.api.registry import JSON, Route
from dashboard.api.routes import ROUTES, document
from dashboard.serving.compression import EVENTS
from tests.contract.schema_check import problems
from tests.unit.dashboard_server.site import BEARER, Site, csrf, open_recording, open_site, record

PLACES = {"run_id": "r1", "seq": "1", "number": "1", "name": "regions:dep_delay"}
QUERIES = {
    "/api/v1/runs/{run_id}/samples": "?entity=system&property=visits_per_tuple",
    "/live/poll": "?run=r1",
    "/api/v1/runs/{run_id}/if-not": "?unit=asc.Flights&decision=1",
    "/api/v1/runs/{run_id}/preview": "?knob=mu&value=0.3",
    "/api/v1/runs/{run_id}/market": "?knob=run_pool_bytes&value=4096",
    "/api/v1/runs/{run_id}/notes": "?kind=note",
    "/api/v1/runs/{run_id}/taps": "?entity=system",
    "/api/v1/sql": "?text=SELECT%201%20AS%20one",
}
READING = [route for route in ROUTES if route.method == "GET" and route.media == JSON]
CHANGING = [route for route in ROUTES if route.change]
BODIES = {
    "/api/v1/runs/{run_id}/taps": {"entity": "system"},
    "/api/v1/runs/{run_id}/branches": {"at": 1, "knob": "mu", "value": 0.2},
    "/api/v1/runs/{run_id}/commands": {"knob": "mu", "value": 0.2, "reason": "a test"},
    "/api/v1/runs/{run_id}/notes": {"kind": "note", "name": "seen", "body": {"batch": 1}},
    "/api/v1/runs/{run_id}/queries": {"name": "q_new", "text": "Select * From Flights"},
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dash.Dash]:
    path = tmp_path_factory.mktemp("recording") / "runs.db"
    record(path, 80)
    with open_recording(path) as app:
        yield app


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("quiet")) as opened:
        yield opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


def address(route: Route) -> str:
    path = route.path
    if path.endswith("/commands/{number}"):
        path = path.replace("{number}", "1")
    return path.format(**PLACES) + QUERIES.get(route.path, "")


def answer_schema(route: Route, status: int) -> dict[str, Any]:
    operation = document()["paths"][route.path][route.method.lower()]
    assert str(status) in operation["responses"], f"{status} is not documented: {route.name}"
    schema: dict[str, Any] = operation["responses"][str(status)]["content"][JSON]["schema"]
    return schema


def wrong(value: Any, route: Route, status: int) -> list[str]:
    return list(problems(value, answer_schema(route, status), document()["components"]["schemas"]))


def test_the_document_has_every_route_of_the_server_and_no_other(shown: dash.Dash) -> None:
    documented = {
        (path, method.upper())
        for path, operations in document()["paths"].items()
        for method in operations
    }
    assert documented == {(route.path, route.method) for route in ROUTES}
    served = set()
    for rule in shown.server.url_map.iter_rules():
        if re.match(r"/(api/v1|live|metrics|healthz)", rule.rule):
            path = re.sub(r"<(\w+)>", r"{\1}", rule.rule)
            served |= {
                (path, verb) for verb in rule.methods or () if verb not in ("HEAD", "OPTIONS")
            }
    assert served == documented


def test_operation_ids_are_unique() -> None:
    names = [route.name for route in ROUTES]
    assert len(set(names)) == len(names)


def test_the_document_is_served(shown: dash.Dash) -> None:
    answer = shown.server.test_client().get("/api/v1/openapi.json")
    assert answer.get_json() == document()
    assert answer.get_json()["openapi"] == "3.1.0"


@pytest.mark.parametrize(
    "route", [route for route in READING if "commands/{" not in route.path], ids=lambda r: r.name
)
def test_every_reading_answers_as_documented(shown: dash.Dash, route: Route) -> None:
    answer = shown.server.test_client().get(address(route))
    assert answer.status_code == 200, answer.text
    assert wrong(answer.get_json(), route, 200) == []
    assert answer.get_json() not in ([], {}) or route.path.endswith(
        ("/commands", "/notes", "/alerts", "/planlog")
    )


@pytest.mark.parametrize("route", CHANGING, ids=lambda r: r.name)
def test_every_change_answers_with_the_command(site: Site, route: Route) -> None:
    noted = site.services.commands
    assert noted is not None
    note = noted.append_command("r1", "note", {"name": "x", "body": {}}, "page", "", 0.0)
    held = {"knob": "mu", "value": 0.2, "unless_kept_s": 9}
    turn = noted.append_command("r1", "knob", held, "page", "", 0.0)
    number = turn.id if route.path.endswith("/keep") else note.id
    path = route.path.format(run_id="r1", name="fog", number=number)
    if route.method == "DELETE" and len(route.places) == 1:
        path += "?name=fog"
    answer = site.browser().open(
        path, method=route.method, json=BODIES.get(route.path), headers=BEARER
    )
    assert answer.status_code == route.status, answer.text
    command = answer.get_json()
    assert wrong(command, route, route.status) == []
    state = "recorded" if "/notes" in route.path else "requested"
    assert (command["state"], command["actor"]) == (state, "api 127.0.0.1")
    followed = site.browser().get(answer.headers["Location"])
    assert followed.get_json() == command


@pytest.mark.parametrize("route", CHANGING, ids=lambda r: r.name)
def test_no_change_without_a_token(quiet: Site, route: Route) -> None:
    path = route.path.format(run_id="r1", name="fog", number="1")
    browser = quiet.browser()
    csrf(browser)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"X-CSRF-Token": "wrong"}):
        answer = browser.open(path, method=route.method, json={}, headers=headers)
        assert answer.status_code == 401
        assert wrong(answer.get_json(), route, 401) == []
    assert quiet.services.reader.commands("r1") == ()


@pytest.mark.parametrize("route", [r for r in ROUTES if r.places], ids=lambda r: r.name)
def test_an_unknown_run_is_a_404_as_documented(quiet: Site, route: Route) -> None:
    path = route.path.format(run_id="nowhere", name="x", number="1", seq="1")
    if route.method == "GET":
        path += QUERIES.get(route.path, "")
    if route.path.endswith("/queries") and route.method == "DELETE":
        path += "?name=x"
    answer = quiet.browser().open(
        path, method=route.method, json=BODIES.get(route.path), headers=BEARER
    )
    assert answer.status_code == 404
    assert wrong(answer.get_json(), route, 404) == []


def test_the_page_about_the_api_has_every_route_and_no_other() -> None:
    page = Path(__file__).parents[2] / "docs" / "api.md"
    told = re.findall(r"^\| `(GET|POST|DELETE) (\S+)` \|", page.read_text("utf-8"), re.MULTILINE)
    assert sorted(told) == sorted((route.method, route.path) for route in ROUTES)


FILES = [r for r in ROUTES if r.method == "GET" and r.media not in (JSON, EVENTS)]


@pytest.mark.parametrize("route", FILES, ids=lambda route: route.name)
def test_an_answer_has_the_content_type_of_the_document(shown: dash.Dash, route: Route) -> None:
    answer = shown.server.test_client().get(address(route))
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == route.media
    answer.close()
