"""The dashboard on a store that another program changes while it is open: no answer is a 500."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Column, Table
from werkzeug.test import TestResponse

from dashboard.pages import all_pages
from dashboard.web.cli import main
from storage.store import open_command_writer
from tests import two_units
from tests.golden import store_v4
from tests.unit.dashboard_server.site import open_recording
from tests.wrong_values import TABLES, all_wrong, changed, some_wrong, untyped

RUN: Final = f"/api/v1/runs/{two_units.RUN}"
ROUTES: Final = [
    *("/metrics", f"/live/poll?run={two_units.RUN}", "/healthz", "/api/v1/runs", RUN),
    *(f"{RUN}/report.html", f"{RUN}/units", f"{RUN}/knobs", f"{RUN}/inputs", f"{RUN}/entities"),
    *(f"{RUN}/plans", f"{RUN}/decisions", f"{RUN}/commands", f"{RUN}/notes", f"{RUN}/places"),
    *(f"{RUN}/results", f"{RUN}/misfits", f"{RUN}/events", f"{RUN}/batches", f"{RUN}/matrices"),
]


class Looked(NamedTuple):
    """A browser on a store, and the program beside it."""

    browser: FlaskClient
    raw: sqlite3.Connection


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looked]:
    path = tmp_path_factory.mktemp("wrong") / "run.db"
    record(path)
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as raw,
        open_recording(path) as app,
    ):
        raw.execute("PRAGMA synchronous = OFF")
        yield Looked(app.server.test_client(), raw)


def record(path: Path) -> None:
    two_units.write(path, "ended")
    asked = {
        "knob": {"knob": "mu", "value": 0.2},
        "note": {"name": "n", "body": {"at": 1, "text": "x"}},
        "preset": {"name": "p", "body": {"values": []}},
        "sql": {"name": "s", "body": {"text": "SELECT 1"}},
        "board": {"name": "b", "body": {"show": "system|batch_ms"}},
    }
    with open_command_writer(str(path)) as commands:
        for kind, payload in asked.items():
            commands.append_command(two_units.RUN, kind, payload, "me", "", time.time())
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(
            "INSERT INTO decision_outcomes VALUES ('mixed', 'u1', 1, 4, 17e8, 1, 9, 1, 2, 9)"
        )
        raw.execute("INSERT INTO unit_states VALUES ('mixed', 'u1', 4, '{}')")
        raw.execute("INSERT INTO command_answers VALUES (1, 'applied', 5, 17e8, 'done', '0.1')")
        copied(raw)
    untyped(path)


def copied(raw: sqlite3.Connection) -> None:
    """The rows of the golden run in tables that two units have none in, as those of the first."""
    raw.commit()
    raw.execute("ATTACH ? AS golden", (str(store_v4.PATH),))
    own = {"run_id": f"'{two_units.RUN}'", "unit_id": f"'{two_units.FLIGHTS.id}'"}
    for table in TABLES:
        if not raw.execute(f'SELECT count(*) FROM main."{table.name}"').fetchone()[0]:
            columns = ", ".join(own.get(c.name, f'"{c.name}"') for c in table.columns)
            raw.execute(
                f'INSERT INTO main."{table.name}" SELECT {columns} FROM golden."{table.name}"'
            )
    raw.commit()
    raw.execute("DETACH golden")


def page(browser: FlaskClient, path: str) -> TestResponse:
    """What is drawn where somebody goes to a page."""
    asked = {"id": "pw-page-key", "property": "data", "value": {"path": path, "theme": "light"}}
    moment = {"id": "pw-moment", "property": "data", "value": {"run": two_units.RUN, "at": None}}
    body = {
        "output": "pw-page.children",
        "outputs": {"id": "pw-page", "property": "children"},
        "inputs": [asked],
        "state": [moment],
        "changedPropIds": ["pw-page-key.data"],
    }
    return browser.post("/_dash-update-component", json=body)


def check(
    table: Table,
    looked: Looked,
    wrong_of: Callable[[Column[Any]], list[Any]],
    ask: Callable[[str], TestResponse],
    places: list[str],
) -> None:
    """Answers where a column holds what it may not: without it, or 503 and what it is."""
    assert {ask(place).status_code for place in places} == {200}
    told = set()
    for column in table.columns:
        for wrong in wrong_of(column):
            with changed(looked.raw, column, wrong):
                answers = {place: ask(place) for place in places}
            for place, answer in answers.items():
                assert answer.status_code in (200, 404, 503), (place, column.name, wrong)
                if answer.status_code == 503 and place != "/healthz":
                    told.add(answer.get_json()["error"]["message"].partition("(table ")[2][:12])
    name = "plan_log" if table.name.startswith("plan_log_") else table.name  # read together
    assert all(words.partition(",")[0].startswith(name[:12]) for words in told if words), told


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_route_breaks_on_what_a_column_may_not_hold(table: Table, looked: Looked) -> None:
    check(table, looked, some_wrong, looked.browser.get, ROUTES)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_neither_routes_nor_pages_break_on_any_of_it(table: Table, looked: Looked) -> None:
    pages = [one.path for one in all_pages()]
    check(table, looked, all_wrong, looked.browser.get, ROUTES)
    check(table, looked, all_wrong, lambda path: page(looked.browser, path), pages)


@pytest.mark.parametrize("more", [[], ["--read-only"], ["--replay"]], ids=str)
def test_a_recording_of_wrong_types_is_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    path = tmp_path / "run.db"
    record(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE batches SET n_tuples = 'many' WHERE id = 2")
    assert main(["--store", str(path), "--port", "0", *more]) == 2
    assert capsys.readouterr().err == (
        f"{path} is not a Planwatch store (or is damaged); name another file with --store (table "
        "batches, row run_id = 'mixed', id = 2, column n_tuples holds a text; allowed is a whole "
        "number)\n"
    )
