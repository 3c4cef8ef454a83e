"""Taps over the API: asked for, read, refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from dashboard.serving.settings import Settings
from dashboard.web.app import create_app
from dashboard.web.server import close_services, open_services
from storage.vocabulary.records import Command
from tests.engine_runs import RUN_ID
from tests.unit.dashboard_server.site import BEARER, TOKEN
from tests.unit.engine.test_taps import INPUT, TapRun

PATH = f"/api/v1/runs/{RUN_ID}/taps"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[TapRun]:
    made = TapRun(tmp_path / "run")
    made.step()
    yield made
    made.close()


@pytest.fixture
def browser(run: TapRun) -> Iterator[FlaskClient]:
    services = open_services(Settings(run.path, TOKEN))
    yield create_app(services).server.test_client()
    close_services(services)


def got(browser: FlaskClient, **asked: Any) -> Any:
    answer = browser.get(f"{PATH}?{urlencode(asked)}", headers=BEARER)
    assert answer.status_code == 200
    return answer.get_json()


def test_an_edge_is_asked_for_and_read(run: TapRun, browser: FlaskClient) -> None:
    queue = next(queue for queue, edge in run.queues().items() if edge["source"] == INPUT)
    assert got(browser, entity=queue) == {"entity": INPUT, "batch": None, "samples": []}
    assert browser.post(PATH, json={"entity": queue}).status_code == 401
    asked = browser.post(PATH, json={"entity": queue, "batches": 1}, headers=BEARER)
    assert asked.status_code == 202
    run.step()
    run.step()
    told = got(browser, entity=queue)
    assert (told["entity"], told["batch"]) == (INPUT, 1)
    (sample,) = [one for one in told["samples"] if one["entity"] == INPUT]
    assert sample["n_passed"] == 120
    assert all(len(row) == 3 + len(sample["columns"]) for row in sample["rows"])
    commands = browser.get(f"/api/v1/runs/{RUN_ID}/commands", headers=BEARER).get_json()
    assert [(one["kind"], one["state"]) for one in commands] == [("tap", "applied")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"entity": "nobody"}, 404),
        ({"entity": ""}, 404),
        ({"entity": "\0"}, 422),
        ({"entity": "x" * 100_000}, 404),
        ({"entity": 5}, 422),
        ({"entity": INPUT, "batches": 0}, 422),
        ({"entity": INPUT, "batches": 601}, 422),
        ({"entity": INPUT, "batches": 1.5}, 422),
        ({"entity": INPUT, "batches": True}, 422),
        ({"entity": INPUT, "batches": 10**30}, 422),
        ({"batches": 5}, 422),
        ([], 400),
    ],
)
def test_what_cannot_be_tapped_is_refused(
    run: TapRun, browser: FlaskClient, body: Any, status: int
) -> None:
    refused = browser.post(
        PATH, data=json.dumps(body), headers={**BEARER, "Content-Type": "application/json"}
    )
    assert (refused.status_code, refused.get_json()["error"]["message"] != "") == (status, True)
    assert run.reader.commands(RUN_ID, taps=True) == ()


def test_whoever_asks_past_the_dashboard_is_refused_by_the_engine(run: TapRun) -> None:
    asked: list[Command] = [
        run.ask("tap", payload)
        for payload in (
            {},
            {"entity": INPUT},
            {"entity": [INPUT], "batches": 3},
            {"batches": 1},
            {"entity": "system", "batches": 1},
        )
    ]
    run.step()
    for command in asked:
        assert run.answer(command).state == "refused"
    assert run.taps(1) == {}
