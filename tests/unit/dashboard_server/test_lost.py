"""A store that goes away under the server, and runs whose engine has died."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

from storage.store import open_engine_writer
from storage.vocabulary.records import Input, Run
from tests.unit.dashboard_server.site import BEARER, open_site


def test_nothing_is_promised_once_the_store_is_gone(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        browser = site.browser()
        assert browser.get("/healthz").status_code == 200
        for path in tmp_path.glob("runs.db*"):
            path.unlink()
        assert browser.get("/healthz").status_code == 503
        request = {"knob": "mu", "value": 0.3}
        for answer in (
            browser.post("/api/v1/runs/r1/commands", json=request, headers=BEARER),
            browser.get("/api/v1/runs"),
        ):
            assert answer.status_code == 503
            said = answer.get_json()["error"]["message"]
            assert said.startswith("The store cannot be ")
            assert "runs.db was moved or deleted" in said or "there is no store to open" in said
        with open_engine_writer(site.services.settings.store_url):
            assert browser.get("/healthz").status_code == 503  # another store in its place


def test_a_dead_run_is_interrupted_everywhere_and_takes_no_requests(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with open_site(tmp_path) as site:
        inputs = (Input("S", [["a", "int"]]),)
        here = socket.gethostname()
        site.writer.begin_run(
            Run("dead", "w", "running", time.time(), {}, process.pid, here, "1.0", inputs=inputs)
        )
        browser = site.browser()
        answer = browser.get("/api/v1/runs/dead").get_json()
        assert answer["state"] == "interrupted"
        assert answer["note"].startswith(f"the process {process.pid} on ")
        states = {run["id"]: run["state"] for run in browser.get("/api/v1/runs").get_json()}
        assert states == {"r1": "running", "dead": "interrupted"}
        request = {"knob": "mu", "value": 0.3}
        refused = browser.post("/api/v1/runs/dead/commands", json=request, headers=BEARER)
        assert (refused.status_code, refused.get_json()["error"]["state"]) == (409, "interrupted")
        assert site.writer.pending_commands("dead") == ()
        assert 'run="dead"' not in browser.get("/metrics").get_data(as_text=True)
