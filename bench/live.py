"""The live demo, measured from outside: its start, record to pixel, knobs, and five open tabs.

Starts ``run.py demo flights`` on a store of its own and opens it in Chromium.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.request
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from backend.launch.doctor import find_chromium
from bench.pages import measure_idle, measure_pages
from bench.processes import CHROMIUM, ROOT, address_of, cpu_s
from bench.timing import spread

TOKEN: Final = "bench-token"
WATCHED_S: Final = 60.0
#: Throughput is measured in turns of so many seconds, without tabs and with five.
TURN_S: Final = 20.0
TURNS: Final = 4
#: A headless browser shows all its pages; in a window all tabs but one are hidden.
BEHIND: Final = """
Object.defineProperty(document, 'hidden', { get: () => true });
Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });
"""
#: Pages have been drawn once before a turn begins.
SETTLE_S: Final = 8.0
PATHS: Final = ("plan", "timeline", "matrix", "decisions", "knobs")
TABS: Final = len(PATHS)
KNOB_VALUES: Final = (0.11, 0.12, 0.13, 0.14, 0.15)


@dataclass(frozen=True)
class Demo:
    """A demo under way: its address, store file, moment of starting and process number."""

    address: str
    store: Path
    started: float
    pid: int

    def rows(self, query: str) -> list[Any]:
        """Rows of the store, read beside the engine; none while there is no table."""
        if not self.store.exists():
            return []
        connection = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            connection.close()

    def open(self, path: str, body: object | None = None, **headers: str) -> Any:
        """An answer, to be read and closed."""
        request = urllib.request.Request(
            f"{self.address}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {TOKEN}",
                "Content-Type": "application/json",
                **headers,
            },
        )
        return urllib.request.urlopen(request, timeout=30)

    def ask(self, path: str, body: object | None = None) -> Any:
        """An answer of the API."""
        with self.open(f"/api/v1{path}", body) as answer:
            return json.load(answer)

    def newest_run(self) -> str:
        """Id of the run that began last."""
        newest: str = max(self.ask("/runs"), key=lambda run: run["started_at"])["id"]
        return newest


def main() -> None:
    """Print what was measured."""
    chromium = find_chromium()
    if chromium is None:
        print("live: no Chromium here; 'run.py test' installs one")
        return
    print(f"five million additions in Python take {_pace():.2f} s here, on {os.cpu_count()} cores")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=list(CHROMIUM))
        with running_demo() as demo:
            page = first_page(browser, demo)
            watch(page, demo)
            turn_knobs(demo)
            page.close()
            measure_pages(browser, demo.address)
            measure_idle(browser, demo.address)
        with running_demo("--set", "rate=0", "--set", "at_end=loop") as demo:
            tabs(browser, demo)
        browser.close()


@contextmanager
def running_demo(*options: str) -> Iterator[Demo]:
    """``run.py demo flights`` until the block is left."""
    with TemporaryDirectory() as name:
        store = Path(name) / "live.db"
        started = time.time()
        with (Path(name) / "said.txt").open("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, "run.py", "demo", "--store", str(store), "--port", "0", *options],
                cwd=ROOT,
                env={**os.environ, "PLANWATCH_TOKEN": TOKEN},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                yield Demo(address_of(process, Path(output.name)), store, started, process.pid)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=30)


def first_page(browser: Browser, demo: Demo) -> Page:
    """Open the plan page; print when it answered and when the first live batch was painted."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{demo.address}/plan")
    opened = time.time() - demo.started
    page.wait_for_selector(".pw-graph .pw-card")
    shown = time.time() - demo.started
    while not page.evaluate("window.planwatch.latencies.length"):
        page.wait_for_timeout(50)
    live = time.time() - demo.started
    print(
        f"start to the page {opened:.1f} s, to a plan on it {shown:.1f} s, "
        f"to the first live batch painted {live:.1f} s"
    )
    return page


def watch(page: Page, demo: Demo) -> None:
    """Record to pixel, size of a delta and duration of a batch over a minute."""
    page.evaluate("window.planwatch.latencies.length = 0")
    since = time.time()
    with ThreadPoolExecutor(1) as beside:
        updates = beside.submit(_updates, demo)
        page.wait_for_timeout(1000 * WATCHED_S)
        sent, unpacked = updates.result()
    latencies = page.evaluate("window.planwatch.latencies.map(one => one.ms)")
    batches = demo.rows(f"select duration_ms, n_tuples from batches where time > {since}")
    print(f"record to pixel {spread(latencies, 'ms')}")
    print(f"update {spread(sent, 'bytes on the wire')}; unpacked {spread(unpacked, 'bytes')}")
    print(f"batch {spread([ms for ms, _ in batches], 'ms')}, {sum(n for _, n in batches)} tuples")


def _updates(demo: Demo) -> tuple[list[int], list[int]]:
    """Bytes of each update of the live stream but the first, as sent and as unpacked."""
    run, unpacker = demo.newest_run(), zlib.decompressobj(zlib.MAX_WBITS | 16)
    sent: list[int] = []
    unpacked: list[int] = []
    until = time.monotonic() + WATCHED_S
    with demo.open(f"/live?run={run}", **{"Accept-Encoding": "gzip"}) as answer:
        while time.monotonic() < until:
            packed = answer.read1()
            text = unpacker.decompress(packed)
            if b"event: delta" in text:
                sent.append(len(packed))
                unpacked.append(len(text))
    return sent[1:], unpacked[1:]


def turn_knobs(demo: Demo) -> None:
    """Batches between the request of a knob's value and its taking effect."""
    run = demo.newest_run()
    waits = []
    for value in KNOB_VALUES:
        before = demo.rows(f"select max(id) from batches where time > {demo.started}")[0][0]
        asked = demo.ask(f"/runs/{run}/commands", {"knob": "mu", "value": value})
        while asked["state"] == "requested":
            time.sleep(0.1)
            asked = demo.ask(f"/runs/{run}/commands/{asked['id']}")
        waits.append(asked["applied_batch"] - before)
    print(f"knob applied {spread(waits, 'batches after the newest recorded one')}")


def tabs(browser: Browser, demo: Demo) -> None:
    """Tuples/s as fast as possible, in turns without a tab, with five tabs of one window and with
    five windows side by side; what the server needs.

    The browser draws on the cores the engine runs on: the share of a core the server takes is what
    the dashboard costs an engine on a machine of its own.
    """
    while len(demo.rows(f"select id from batches where time > {demo.started} limit 9")) < 9:
        time.sleep(0.5)
    kinds = {"no tab": 0, f"{TABS} tabs, one in front": 1, f"{TABS} windows": TABS}
    speeds: dict[str, list[float]] = {kind: [] for kind in kinds}
    shares: dict[str, list[float]] = {kind: [] for kind in kinds}
    server = _server(demo)
    for _ in range(TURNS):
        for kind, n_shown in kinds.items():
            pages = _open(browser, demo, n_shown) if n_shown else []
            time.sleep(SETTLE_S)
            before, since = cpu_s(server), time.monotonic()
            speeds[kind].append(_speed(demo))
            shares[kind].append(100 * (cpu_s(server) - before) / (time.monotonic() - since))
            for page in pages:
                page.close()
    alone = statistics.median(speeds["no tab"])
    for kind, rates in speeds.items():
        ratio = statistics.median(rates) / alone
        print(f"as fast as possible, {kind}: {spread(rates, 'tuples/s')}, x {ratio:.3f}")
        print(f"  the server took {statistics.median(shares[kind]):.2f} % of a core")


def _open(browser: Browser, demo: Demo, n_shown: int) -> list[Page]:
    """Five pages, the first n_shown of them visible."""
    pages = [browser.new_page() for _ in PATHS]
    for place, (page, path) in enumerate(zip(pages, PATHS, strict=True)):
        if place >= n_shown:
            page.add_init_script(BEHIND)
        page.goto(f"{demo.address}/{path}")
    return pages


def _pace() -> float:
    """Seconds for five million additions: how fast one core is at this moment."""
    since, total = time.perf_counter(), 0
    for number in range(5_000_000):
        total += number
    return time.perf_counter() - since


def _speed(demo: Demo) -> float:
    """Tuples per second of batch time: what the engine needs, whatever the source's pace."""
    since = time.time()
    time.sleep(TURN_S)
    rows = demo.rows(f"select sum(n_tuples), sum(duration_ms) from batches where time > {since}")
    n_tuples, ms = rows[0]
    return float(n_tuples / ms * 1e3)


def _server(demo: Demo) -> int:
    """The number of the process that serves the pages."""
    children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
    for child in children:
        if b"serve" in Path(f"/proc/{child}/cmdline").read_bytes():
            return int(child)
    raise RuntimeError("the demo has no process that serves pages")
