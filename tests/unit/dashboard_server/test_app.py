"""The application as a whole: first paint, pages, callbacks that only read."""

from __future__ import annotations

import re
from typing import Any

import dash
import pytest

from dashboard.web import app as app_module
from dashboard.web.app import create_app, skeleton
from tests.unit.dashboard_server.site import Site


def test_the_first_answer_already_shows_the_frame(shown: dash.Dash) -> None:
    html = shown.server.test_client().get("/plan").text
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "<title>Planwatch</title>" in html
    assert 'class="pw-skeleton" aria-hidden="true"' in html
    assert html.index("pw-skeleton") < html.index("dash-renderer")
    assert len(html) < 40_000


def test_the_skeleton_names_the_pages_and_cannot_be_tabbed_into() -> None:
    html = skeleton(("Runs", "Plan <b>"))
    assert "<span>Runs</span><span>Plan &lt;b&gt;</span>" in html
    assert not re.search(r"<(a|button|input)\b", html)


def test_two_applications_share_nothing(site: Site, shown: dash.Dash) -> None:
    other = create_app(site.services)
    assert other.server is not shown.server
    assert other.callback_map.keys() == shown.callback_map.keys()


def test_a_page_is_whole_whoever_asks_first(site: Site) -> None:
    """Two browsers may ask at once, before any request was answered."""
    app = create_app(site.services)
    with app.server.test_request_context("/plan"):
        html = app.index()  # type: ignore[no-untyped-call]  # dash has no types here
    assert len(re.findall(r'<link rel="modulepreload" href="/scripts/\w+/modules/', html)) == 1
    assert re.search(
        r'<script id="_dash-renderer" type="module" src="/scripts/\w+/modules/main', html
    )
    assert html.index("theme_boot.js") < html.index("styles.css")
    assert "new DashRenderer" not in html


def test_developer_tools_and_mcp_are_off(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    assert shown.server.debug is False
    assert "MCP" not in browser.post("/_mcp", json={}).text
    assert browser.post("/_mcp", json={}).status_code == 405


def test_a_callback_wants_json(shown: dash.Dash) -> None:
    answer = shown.server.test_client().post("/_dash-update-component", data={"output": "x"})
    assert answer.status_code == 415
    assert answer.get_json()["error"]["code"] == "not_json"


def test_a_body_too_long_is_refused(shown: dash.Dash) -> None:
    body = b"x" * (app_module.LONGEST_BODY_BYTES + 1)
    answer = shown.server.test_client().post(
        "/_dash-update-component", data=body, content_type="application/json"
    )
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/_dash-component-suites/x/y",
        "/_dash-component-suites/dash/../../setup.py",
        "/_dash-component-suites/dash/dash-renderer/build/nope.js",
    ],
)
def test_an_unknown_script_is_a_404(shown: dash.Dash, path: str) -> None:
    answer = shown.server.test_client().get(path)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "not_found")


RIGHT = {
    "output": "pw-page.children",
    "outputs": {"id": "pw-page", "property": "children"},
    "inputs": [{"id": "pw-page-key", "property": "data", "value": None}],
    "state": [{"id": "pw-moment", "property": "data", "value": None}],
    "changedPropIds": ["pw-page-key.data"],
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"output": "nothing.here"},
        {"output": 5},
        {"outputs": []},
        {"outputs": {"id": "pw-page", "property": "style"}},
        {"inputs": 7},
        {"inputs": []},
        {"inputs": [None]},
        {"inputs": [{"id": "pw-page-key", "property": "style"}]},
        {"state": [{"id": {"type": "x"}, "property": "data"}]},
        {"changedPropIds": [[]]},
    ],
)
def test_a_call_of_no_callback_is_refused(shown: dash.Dash, wrong: dict[str, Any]) -> None:
    client = shown.server.test_client()
    assert client.post("/_dash-update-component", json=RIGHT).status_code < 300
    for body in ({}, {**RIGHT, **wrong}):
        answer = client.post("/_dash-update-component", json=body)
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "bad_callback")
