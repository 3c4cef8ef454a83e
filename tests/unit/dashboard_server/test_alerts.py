"""Alert rules: which hold, where they may be told, and that each is told once when it begins."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from dashboard.serving.alerts import (
    AlertWatch,
    WebhookRefused,
    alert_history,
    alert_states,
    check_webhook,
)
from dashboard.views.alerts import ANSWERS, rules_of, states_of, why_no_rule
from dashboard.views.book import Book
from storage.vocabulary.records import Command, Entity
from tests.unit.dashboard_server.site import BEARER, Site, open_site

RULE = {"entity": "system", "property": "n_tuples", "relation": ">=", "threshold": 200}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture
def listener() -> Iterator[tuple[str, list[Any]]]:
    """An address, and what was posted to it."""
    got: list[Any] = []

    class Listens(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Listens) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook", got
        server.shutdown()
        thread.join()


def write(site: Site, name: str, **body: Any) -> int:
    asked = {"kind": "alert", "name": name, "body": {**RULE, **body}}
    answer = site.browser().post("/api/v1/runs/r1/notes", json=asked, headers=BEARER)
    assert answer.status_code == 201, answer.text
    return int(answer.get_json()["id"])


def test_rules_hold_by_the_newest_values(site: Site) -> None:
    write(site, "many")
    write(site, "more", relation=">")
    gone = write(site, "gone")
    write(site, "unknown", property="nothing")
    deleted = site.browser().delete(f"/api/v1/runs/r1/notes/{gone}", headers=BEARER)
    assert deleted.status_code == 201
    found = site.browser().get("/api/v1/runs/r1/alerts").get_json()
    written = [one for one in found if one["rule"]["id"] > 0]
    assert [(one["rule"]["name"], one["value"], one["fires"]) for one in written] == [
        ("many", 200.0, True),
        ("more", 200.0, False),
        ("unknown", None, False),
    ]


def test_a_query_is_addressed_by_its_name_in_any_run() -> None:
    def query(id: str, name: str) -> Entity:
        return Entity(id, "query", name, unit_id="u", role="query")

    def rule(name: str, **more: Any) -> Command:
        told = {**RULE, "entity": f"@{name}", "property": ANSWERS, "relation": ">", "threshold": 0}
        return Command(1, "r1", "alert", {"name": name, "body": {**told, **more}}, "me", "", 0.0)

    entities = Book([query("u/1", "full"), query("u/2", "matches"), query("u/3", "still")])
    values: dict[str, dict[str, float | None]] = {
        "u/1": {"answer_tuples": 2.0, "matched_tuples": 9.0},
        "u/2": {"matched_tuples": 3.0},
        "u/3": {"answer_tuples": 0.0},
    }
    rules = rules_of([rule(name) for name in ("full", "matches", "still", "gone")])
    found = states_of(rules, values, entities)
    assert [(one.whose, one.value, one.fires) for one in found] == [
        ("full", 2.0, True),
        ("matches", 3.0, True),
        ("still", 0.0, False),
        ("@gone", None, False),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"silence": "x"},
        {**RULE, "for_s": -1},
        {**RULE, "relation": "=="},
        {**RULE, "threshold": "9"},
        {**RULE, "threshold": True},
    ],
)
def test_what_is_no_rule_is_refused(site: Site, body: dict[str, Any]) -> None:
    assert why_no_rule(body)
    asked = {"kind": "alert", "name": "x", "body": body}
    answer = site.browser().post("/api/v1/runs/r1/notes", json=asked, headers=BEARER)
    assert answer.status_code == 422
    assert "body: " in answer.get_json()["error"]["message"]


def test_the_webhook_is_told_once_when_a_rule_begins_to_hold(
    site: Site, listener: tuple[str, list[Any]]
) -> None:
    address, got = listener
    watch = AlertWatch(site.services.reader, check_webhook(address, elsewhere=False))
    write(site, "quiet one")
    write(site, "loud one", webhook=True)
    watch.look()
    watch.look()
    assert [one["rule"] for one in got] == ["loud one"]
    assert (got[0]["value"], got[0]["relation"], got[0]["threshold"]) == (200.0, ">=", 200.0)
    assert len([one for one in alert_states(site.services.reader, "r1") if one.fires]) == 2


def test_a_webhook_that_is_not_there_breaks_nothing(site: Site) -> None:
    write(site, "loud", webhook=True)
    AlertWatch(site.services.reader, "http://127.0.0.1:9/nobody").look()


def test_a_webhook_is_on_this_machine_unless_allowed() -> None:
    assert check_webhook("", elsewhere=False) == ""
    assert check_webhook("http://localhost:9000/x", elsewhere=False)
    with pytest.raises(WebhookRefused, match="on another machine"):
        check_webhook("https://example.org/x", elsewhere=False)
    assert check_webhook("https://example.org/x", elsewhere=True)
    for odd in ("file:///etc/passwd", "ftp://localhost/x", "nothing", "http://[::1"):
        with pytest.raises(WebhookRefused, match="no http address"):
            check_webhook(odd, elsewhere=True)


def test_a_silent_rule_fires_no_more_until_it_is_woken(site: Site) -> None:
    write(site, "many")

    def fires(seconds: float | None) -> bool:
        if seconds is not None:
            body = {"silence": "many", "seconds": seconds}
            asked = {"kind": "alert", "name": "silence", "body": body}
            answer = site.browser().post("/api/v1/runs/r1/notes", json=asked, headers=BEARER)
            assert answer.status_code == 201
        states = alert_states(site.services.reader, "r1")
        (one,) = [state for state in states if state.rule.name == "many"]
        assert (one.silent_until is not None) == bool(seconds)
        return one.fires

    assert fires(None)
    assert not fires(60)
    assert fires(0)


def test_a_rule_may_have_to_be_true_for_a_while(site: Site) -> None:
    write(site, "at once")
    write(site, "long", for_s=86_400)
    states = {state.rule.name: state for state in alert_states(site.services.reader, "r1")}
    assert states["at once"].fires
    assert not states["long"].fires
    assert states["long"].since is not None
    held = alert_history(site.services.reader, "r1", None)
    assert {rule.name for rule, _ in held} >= {"at once"}
    assert "long" not in {rule.name for rule, _ in held}


def test_every_run_has_alerts_of_its_own(site: Site) -> None:
    states = {state.rule.name: state for state in alert_states(site.services.reader, "r1")}
    assert {"Backlog", "Misfits", "Dead engine"} <= states.keys()
