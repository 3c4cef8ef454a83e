"""The textual client against a real dashboard over a real run."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.model.schema import Schema
from dashboard.console.client import ApiClient, Unanswered
from dashboard.console.shell import run_shell
from dashboard.serving.settings import Settings
from tests.engine_runs import EngineRun
from tests.unit.dashboard_server.site import TOKEN
from tests.web.site import serving

ROWS = [{"a": k % 7, "b": k % 3} for k in range(300)]


@contextmanager
def answering(run: EngineRun) -> Iterator[None]:
    """The engine answers commands while nothing comes."""
    stop = threading.Event()

    def idle() -> None:
        while not stop.wait(0.02):
            run.loop.idle()

    thread = threading.Thread(target=idle)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Of a dashboard over a run of one query, one batch old."""
    schemas = {"S": Schema.parse("a int, b int")}
    run = EngineRun(tmp_path / "runs.db", schemas, {"few": "Select * From S Where a = 1"})
    run.batch(ROWS)
    with serving(Settings(run.path, TOKEN, port=0)) as server, answering(run):
        yield f"http://127.0.0.1:{server.port}"
    run.close()


def said(address: str, *lines: str, status: int = 0) -> str:
    """What the shell prints."""
    out = io.StringIO()
    assert run_shell(ApiClient(address), "", lines, out) == status, out.getvalue()
    return out.getvalue()


def test_everything_can_be_looked_at(address: str) -> None:
    shown = said(address, "runs", "streams", "queries", "plan", "knobs", "results few", "events")
    assert "test-run" in shown
    assert "a int, b int" in shown
    assert "Select * From S Where a = 1" in shown
    assert "Output [output]" in shown
    assert "mu" in shown
    assert "few: a=1" in shown


def test_a_query_is_registered_paused_resumed_and_removed(address: str) -> None:
    lines = ("register more Select * From S Where b = 2", "queries", "pause more", "resume more")
    shown = said(address, *lines, "remove more", "queries")
    assert "query more registered, from batch 1 on" in shown
    assert "query more paused" in shown
    assert "query more resumed" in shown
    assert shown.count("Where b = 2") == 1


def test_a_name_with_blanks_stands_in_quotes(address: str) -> None:
    shown = said(address, 'register "9 trains" Select * From S Where b = 3', "pause '9 trains'")
    assert "query 9 trains registered" in shown
    assert "query 9 trains paused" in shown
    shown = said(address, "remove '9 trains'", "register a/b Select * From S", status=1)
    assert "query 9 trains removed" in shown
    assert "'a/b' is a path" in shown


def test_a_stream_is_paused_resumed_and_removed(address: str) -> None:
    shown = said(address, "pause S", "streams", "resume S", "remove S", status=1)
    assert "intake on → paused" in shown
    assert "intake paused → on" in shown
    assert shown.count("paused") == 3  # as it is listed, too
    assert "query 'few' reads S" in shown
    shown = said(address, "remove few", "remove S", "register new Select * From S", status=1)
    assert "intake on → removed" in shown
    assert "query 'new' reads S" in shown
    assert "query new registered" in said(
        address, "resume S", "register new Select * From S", "events"
    )


def test_a_knob_is_turned_and_a_wrong_value_is_refused(address: str) -> None:
    shown = said(address, "set mu 0.25 calmer", "set mu -7", status=1)
    assert "mu 0.1 → 0.25" in shown
    assert "-7" in shown


def test_a_refusal_of_the_engine_is_told(address: str) -> None:
    shown = said(address, "register odd Select * From Nowhere", status=1)
    assert "Nowhere" in shown


@pytest.mark.parametrize(
    "line", ["fly", "register x", "pause", "pause 'few", "register 'x y", "set mu"]
)
def test_what_is_no_command_is_said(address: str, line: str) -> None:
    assert said(address, line, "runs", status=1).count("\n") >= 2


def test_watching_ends_with_the_run(tmp_path: Path) -> None:
    run = EngineRun(tmp_path / "runs.db", {"S": Schema.parse("a int")}, {"q": "Select * From S"})
    run.batch([{"a": 5}])
    run.loop.ending("over")
    with serving(Settings(run.path, TOKEN, port=0)) as server:
        assert "q: a=5" in said(f"http://127.0.0.1:{server.port}", "watch q")
    run.close()


class FeedingClient(ApiClient):
    """A batch comes whenever results were asked for; behind the third the run is over."""

    def __init__(self, address: str, run: EngineRun) -> None:
        super().__init__(address)
        self._fed = run

    def get(self, *path: str, **query: object) -> Any:
        found = super().get(*path, **query)
        if path[-1] == "results" and self._fed.batch_id < 3:
            self._fed.batch([{"a": self._fed.batch_id}])
            if self._fed.batch_id == 3:
                self._fed.loop.ending("over")
        return found


def test_watching_shows_each_result_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.console.shell.POLL_S", 0.0)
    run = EngineRun(tmp_path / "runs.db", {"S": Schema.parse("a int")}, {"q": "Select * From S"})
    run.batch([{"a": 0}])
    out = io.StringIO()
    with serving(Settings(run.path, TOKEN, port=0)) as server:
        client = FeedingClient(f"http://127.0.0.1:{server.port}", run)
        assert run_shell(client, "", ["watch q"], out) == 0
    run.close()
    assert [line.partition("q: ")[2] for line in out.getvalue().splitlines()] == [
        "a=0",
        "a=1",
        "a=2",
    ]


def test_a_script_may_have_remarks_and_may_leave_early(address: str) -> None:
    assert said(address, "# nothing", "", "quit", "fly") == ""


def test_no_dashboard_is_a_sentence() -> None:
    with pytest.raises(Unanswered, match=r"No dashboard answers at http://127\.0\.0\.1:1"):
        ApiClient("http://127.0.0.1:1").get("runs")


def test_a_run_is_held_stepped_and_sped_up(address: str) -> None:
    shown = said(address, "hold lunch", "step", "speed 4", "go")
    lines = [line for line in shown.splitlines() if "from batch" in line]
    words = ("the run paused", "a step of one batch", "speed 1.0 → 4", "the run resumed")
    assert len(lines) == len(words)
    assert all(word in line for word, line in zip(words, lines, strict=True))
    assert "the run is not paused" in said(address, "go", status=1)
