"""The whole product, for real: the demo started, μ turned, the page frozen, the past opened."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, expect

from storage.exchange.liveness import LIVE_STATES
from storage.store import open_reader
from tests.web.conftest import until

ROOT = Path(__file__).resolve().parents[2]
#: A cold start on a busy machine; on a quiet one the first batch is there in a quarter of it.
PATIENCE_S = 240.0


class Demo:
    """``run.py demo`` in a process of its own, with what it prints."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "run.py", "demo", "--store", str(store), "--port", "0"]
        command += ["--set", "rate=1500", "--set", "lambda_tuples=1000"]
        environment = {**os.environ, "PLANWATCH_NO_ENVIRONMENT": "1"}
        self.store = str(store)
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._heard: Queue[str] = Queue()
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._heard.put(line)

    def address(self) -> str:
        """The printed address."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = re.search(r"http://127\.0\.0\.1:\d+", self._heard.get(timeout=PATIENCE_S))
            if found:
                return found.group()
        raise AssertionError(f"no address in {self.lines}")

    def batches(self) -> int:
        """Batches recorded so far."""
        try:
            with open_reader(self.store) as reader:
                live = [run for run in reader.runs() if run.state in LIVE_STATES]
                return len(reader.batches(live[0].id)) if live else 0
        except OSError:
            return 0

    def stop(self) -> float:
        """Ctrl-C; seconds until it was gone."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        return time.monotonic() - begun

    def close(self) -> None:
        """Leave neither process nor pipe behind."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._listener.join(timeout=10)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    started = Demo(tmp_path / "demo.db")
    yield started
    started.close()


def wait_for_batches(demo: Demo, n: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while demo.batches() < n:
        assert demo.process.poll() is None, "".join(demo.lines)
        assert time.monotonic() < end, f"fewer than {n} batches: {''.join(demo.lines)}"
        time.sleep(0.5)  # sleeps: asked again


def turn_mu(page: Page) -> None:
    card = page.locator("#pw-page [data-knob='mu']")
    expect(card).to_be_visible(timeout=60_000)
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live", timeout=60_000)
    card.get_by_label("mu", exact=True).fill("0.02")
    card.get_by_role("button", name="Apply 0.02").click()
    expect(card.locator(".pw-chip")).to_contain_text("applied at batch", timeout=120_000)
    expect(card).to_have_attribute("data-value", "0.02")


def register_and_pause(page: Page, address: str) -> None:
    """A query of one's own, from the page to the engine and back; then it rests."""
    page.goto(f"{address}/results")
    expect(page.get_by_role("button", name="Register query")).to_be_enabled(timeout=60_000)
    page.get_by_role("textbox", name="Name").fill("mine")
    page.get_by_role("textbox", name="CQL").fill("Select * From Flights Where dep_delay > 5")
    page.get_by_role("button", name="Register query").click()
    requests = page.locator(".pw-requests")
    expect(requests).to_contain_text("applied register mine", timeout=120_000)
    page.goto(f"{address}/results?node=asc.Flights%2Fquery:mine")
    page.get_by_role("button", name="Pause", exact=True).click(timeout=60_000)
    expect(requests).to_contain_text("applied pause mine", timeout=120_000)


@pytest.mark.timeout(900)
def test_the_demo_from_start_to_stop(browser: Browser, demo: Demo) -> None:
    address = demo.address()
    wait_for_batches(demo, 3)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    page.goto(f"{address}/knobs")
    turn_mu(page)

    register_and_pause(page, address)

    page.goto(f"{address}/plan")
    page.wait_for_selector("[data-id='asc.Flights/selection:dep_delay']", timeout=60_000)
    page.keyboard.press("Space")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "frozen", timeout=60_000)
    until(page, "location.search.includes('at=')", 30)

    with open_reader(demo.store) as reader:
        run_id = reader.runs()[0].id
    page.goto(f"{address}/plan?run={run_id}&at=1")
    page.wait_for_selector("[data-id='asc.Flights/selection:dep_delay']", timeout=60_000)
    expect(page.locator("#pw-mode")).not_to_have_attribute("data-mode", "live", timeout=60_000)
    context.close()

    assert demo.stop() < 15
    with open_reader(demo.store) as reader:
        run = reader.runs()[0]
        assert run.state == "ended", run.note
        commands = reader.commands(run_id)
        assert [c.kind for c in commands] == ["query_pause", "query_add", "knob"], "newest first"
        assert all(c.state == "applied" and c.applied_batch is not None for c in commands)
        assert {k.name: k.value for k in reader.knobs(run_id)}["mu"] == 0.02
    assert errors == []
