"""A knob that several units have: the API says which scopes there are, and turns the one named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.serving.settings import Settings
from dashboard.web.app import create_app
from dashboard.web.server import close_services, open_services
from tests import two_units
from tests.two_units import FLIGHTS, PACKETS, RUN
from tests.unit.dashboard_server.site import BEARER, TOKEN


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[FlaskClient]:
    path = tmp_path / "two.db"
    two_units.write(path)
    services = open_services(Settings(str(path), TOKEN))
    yield create_app(services).server.test_client()
    close_services(services)


def turn(browser: FlaskClient, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = browser.post(f"/api/v1/runs/{RUN}/commands", json=body, headers=BEARER)
    return answer.status_code, answer.get_json()


def test_a_name_that_several_scopes_have_needs_its_scope(browser: FlaskClient) -> None:
    status, answer = turn(browser, knob="mu", value=0.2)
    assert status == 422
    assert FLIGHTS.id in answer["error"]["message"]
    assert PACKETS.id in answer["error"]["message"]
    status, answer = turn(browser, knob="mu", value=0.2, scope=PACKETS.id)
    assert (status, answer["payload"]["scope"]) == (202, PACKETS.id)


def test_a_name_that_one_scope_has_needs_none(browser: FlaskClient) -> None:
    status, answer = turn(browser, knob="alpha", value=0.5)
    assert (status, answer["payload"]["scope"]) == (202, PACKETS.id)
    status, answer = turn(browser, knob="rate", value=5)
    assert (status, answer["payload"]["scope"]) == (202, "")
    assert turn(browser, knob="alpha", value=0.5, scope=FLIGHTS.id)[0] == 404
