"""The pages of a live run, measured in Chromium: loading, going about, moving in time, being idle.

Called by ``bench live`` on a demo that has run for a while.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from bench.processes import cpu_s, tree
from bench.timing import spread

PATHS: Final = (
    "/timeline",
    "/decisions",
    "/knobs",
    "/results",
    "/matrix",
    "/monitor",
    "/",
    "/plan",
)
N_CLICKS: Final = 40
N_SEEKS: Final = 40
IDLE_S: Final = 30.0
_VIEW: Final[ViewportSize] = {"width": 1440, "height": 900}
#: Does something, then counts milliseconds until nothing is asked for and three frames are drawn.
_SETTLES: Final = """async ([act, wanted]) => {
  const since = performance.now();
  new Function("wanted", act)(wanted);
  await new Promise((done) => {
    let quiet = 0;
    const look = () => {
      const busy = (window.dash_stores || []).some((store) => store.getState().isLoading);
      const there = window.location.href.includes(wanted);
      quiet = there && !busy ? quiet + 1 : 0;
      if (quiet > 2) done();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  return performance.now() - since;
}"""
_CLICK: Final = "document.querySelector(`.pw-nav-link[data-pw-path='${wanted}']`).click()"
_SEEK: Final = "planwatch.go({ at: Number(wanted.slice(3)) })"


def measure_pages(browser: Browser, address: str) -> None:
    """Print what a page takes to load, to go to another one, to move in time, and while idle."""
    with browser.new_context(viewport=_VIEW) as context:
        for words in ("cold", "warm"):
            _print_loading(context, f"{address}/plan", words)
        page = context.new_page()
        page.goto(f"{address}/plan")
        page.wait_for_selector("#plan-graph[data-batch]")
        places = [path for path in PATHS if page.query_selector(_link(path))]
        clicks = [places[n % len(places)] for n in range(N_CLICKS)]
        first = {path: _settles(page, _CLICK, path) for path in dict.fromkeys(clicks)}
        print(f"first time on a page: {', '.join(f'{p} {ms:.0f} ms' for p, ms in first.items())}")
        print(f"navigation {spread([_settles(page, _CLICK, path) for path in clicks], 'ms')}")
        print(f"seek {spread(list(_seeks(page)), 'ms')}")
        page.close()
    with browser.new_context(viewport=_VIEW) as context:
        page = context.new_page()
        since = time.perf_counter()
        page.goto(f"{address}/timeline")
        page.wait_for_selector(".js-plotly-plot .main-svg")
        print(f"cold Timeline usable after {1e3 * (time.perf_counter() - since):.0f} ms")


def measure_recording(browser: Browser, address: str) -> None:
    """Print what going to each page of a recording takes, and from moment to moment on it."""
    with browser.new_context(viewport=_VIEW) as context:
        page = context.new_page()
        page.goto(f"{address}/plan")
        page.wait_for_selector("#plan-graph[data-batch]")
        every: list[float] = []
        for path in (path for path in PATHS if page.query_selector(_link(path))):
            ms, seeks = _settles(page, _CLICK, path), list(_seeks(page))
            every += seeks
            print(f"{path:12} {ms:5.0f} ms to the page; another moment {spread(seeks, 'ms')}")
        print(f"{'all':12} another moment {spread(every, 'ms')}")


def measure_idle(browser: Browser, address: str) -> None:
    """Print what an untouched live Plan page takes of a core."""
    page = browser.new_page(viewport=_VIEW)
    page.goto(f"{address}/plan")
    page.wait_for_selector("#plan-graph[data-batch]")
    time.sleep(5)
    before, since = _browsers_cpu_s(), time.monotonic()
    time.sleep(IDLE_S)
    share = (_browsers_cpu_s() - before) / (time.monotonic() - since)
    print(f"an untouched live Plan page takes {100 * share:.1f} % of a core, browser and all")
    page.close()


def _link(path: str) -> str:
    return f".pw-nav-link[data-pw-path='{path}']"


def _settles(page: Page, act: str, wanted: str) -> float:
    ms: float = page.evaluate(_SETTLES, [act, wanted])
    return ms


def _seeks(page: Page) -> Iterator[float]:
    newest = int(page.evaluate("planwatch.known.now"))
    moments = random.Random(1)
    for _ in range(N_SEEKS):
        yield _settles(page, _SEEK, f"at={moments.randint(0, max(1, newest - 1))}")


def _print_loading(context: BrowserContext, address: str, words: str) -> None:
    page = context.new_page()
    with _counted(page) as traffic:
        since = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("#plan-graph[data-batch]")
        ms = 1e3 * (time.perf_counter() - since)
        page.wait_for_timeout(1500)
    twice = sum(n - 1 for n in traffic["answers"].values())
    print(
        f"{words} Plan page: {ms:.0f} ms to the graph, {traffic['requests']} requests, "
        f"{traffic['bytes'] / 1e3:.0f} kB, answers fetched twice: {twice}"
    )
    page.close()


@contextmanager
def _counted(page: Page) -> Iterator[dict[str, Any]]:
    """Requests, bytes on the wire, and how often each callback was asked the same."""
    counts: dict[str, Any] = {"requests": 0, "bytes": 0, "answers": Counter()}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")

    def asked(event: dict[str, Any]) -> None:
        counts["requests"] += 1
        body = event["request"].get("postData")
        if body and "_dash-update-component" in event["request"]["url"]:
            counts["answers"][body] += 1

    def finished(event: dict[str, Any]) -> None:
        counts["bytes"] += event["encodedDataLength"]

    handlers: dict[str, Callable[[dict[str, Any]], None]] = {
        "Network.requestWillBeSent": asked,
        "Network.loadingFinished": finished,
    }
    for name, handler in handlers.items():
        session.on(name, handler)
    yield counts
    session.detach()


def _browsers_cpu_s() -> float:
    """Seconds of processor time of the browsers this process drives, all of their processes."""
    return sum(cpu_s(process) for process in tree(os.getpid()) if _is_browser(process))


def _is_browser(process: int) -> bool:
    try:
        return b"chrom" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
