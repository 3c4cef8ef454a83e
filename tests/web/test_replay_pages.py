"""A replay that plays moves every page: it shows what a page opened at that batch shows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, painted, until
from tests.web.joins_run import JoinsRun
from tests.web.recorded_filters import record_filters
from tests.web.site import Site, serve
from tests.web.stream_run import StreamRun

pytestmark = pytest.mark.web

#: What is on screen whenever the page says that it shows a batch: [batch, what was asked for].
_WATCH = """shown => {
  window.painted = [];
  const read = new Function(`return ${shown}`);
  const look = () => {
    const shell = document.getElementById("pw-shell");
    const at = new URLSearchParams(location.search).get("at");
    const word = document.getElementById("pw-strip-batch").textContent;
    const last = painted[painted.length - 1];
    const rests = shell.dataset.painting !== "1" && word === `batch ${at}`;
    if (rests && (!last || last[0] !== Number(at))) painted.push([Number(at), null]);
    if (rests) painted[painted.length - 1][1] = read();
    requestAnimationFrame(look);
  };
  look();
}"""
_IN_SIGHT = (
    "[...document.querySelectorAll('.pw-main .pw-plot')].filter((one) =>"
    " one.clientWidth && one.getBoundingClientRect().top < window.innerHeight)"
)
#: All that stands on the page in words, the lines of its small charts, and what its figures have
#: for the moment: the cells of a matrix, the cursor of the time axis.
_SHOWN = f"""(() => {{
  const all = (what) => [...document.querySelectorAll(`.pw-main ${{what}}`)];
  const shown = all(".pw-page, .pw-plan").map((one) => one.textContent);
  const lines = all("polyline").map((one) => one.getAttribute("points"));
  const figures = {_IN_SIGHT}.map(({{ data, layout }}) => [
    (data || []).filter((one) => one.type === "heatmap").map((one) => one.z),
    ((layout || {{}}).shapes || []).filter((one) => one.name === "cursor").map((one) => one.x0),
  ]);
  return JSON.stringify([shown, lines, figures]);
}})()"""
#: How many requests for the same part of the page are out at once, at most.
_COUNT = """() => {
  const [asked, flying] = [window.fetch, {}];
  window.most = 0;
  window.fetch = async (...given) => {
    const body = (given[1] || {}).body;
    const { output } = typeof body === "string" && body.startsWith("{") ? JSON.parse(body) : {};
    if (!output) return asked(...given);
    flying[output] = (flying[output] || 0) + 1;
    if (flying[output] > window.most) { window.most = flying[output]; window.who = output; }
    try {
      return await asked(...given);
    } finally {
      flying[output] -= 1;
    }
  };
}"""
#: Runs made as fast as may be have a batch every half a second, as if they had been live.
_SLOWER = """
UPDATE batches SET time = 1700000000 + id * 0.5 WHERE run_id IN ('filters', 'trips', 'keys');
UPDATE samples SET time = 1700000000 + batch_id * 0.5 WHERE series_id IN
  (SELECT id FROM series WHERE run_id IN ('filters', 'trips', 'keys'));
"""
#: Soon there is another decision.
START = 100
PATHS = (
    *("/plan?run=r1&node=asc:dep_delay", "/matrix?run=r1", "/timeline?run=r1"),
    *("/monitor?run=r1", "/decisions?run=r1", "/results?run=r1"),
)
#: Of other systems, by their runs; one batch every half a second.
SYSTEMS = (
    *(f"/{page}?run=filters" for page in ("plan", "matrix", "decisions")),
    *(f"/{page}?run=trips" for page in ("plan", "monitor", "results")),
    *(f"/{page}?run=keys" for page in ("plan", "memory", "timeline")),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The common one, with runs of filters, of a network of operators and of a join."""
    with serve(tmp_path_factory.mktemp("replayed")) as served:
        record_filters(served.path, "filters")
        for made in (
            StreamRun(Path(served.path), "trips").seconds(24),
            JoinsRun(Path(served.path), "keys").ticks(24),
        ):
            # one that only stops is told to be interrupted, in the middle of a test
            made.writer.set_state(made.run_id, "ended", "the input ended", time.time())
            made.close()
        with closing(connect(served.path)) as store, store:
            store.executescript(_SLOWER)
        yield served


def _settled(page: Page) -> None:
    until(page, "document.getElementById('pw-shell').dataset.painting === '0'")


def _opened(open_page: OpenPage, path: str, batch: int) -> Page:
    """At the batch, everything drawn; without ghosts of what was."""
    page = open_page(f"{path}&at={batch}", motion="reduce")
    expect(page.locator("#pw-strip-batch")).to_have_text(f"batch {batch}")
    until(page, f"{_IN_SIGHT}.every((one) => !one.classList.contains('pw-plot-waiting'))")
    _settled(page)
    return page


def _play(page: Page, speed: str, least: int) -> list[list[Any]]:
    """[batch, what was on the page], for each that was painted."""
    page.evaluate(_COUNT)
    page.evaluate(_WATCH, _SHOWN)
    page.get_by_label("Replay speed").select_option(speed)
    page.get_by_role("button", name="Play (space)").click()
    texts = "new Set(painted.map(([batch, text]) => text))"
    until(page, f"{texts}.size > 1 && painted.length >= {least}", 20)
    # before it is paused: a replay that has come to its end is begun anew by the same key
    found: list[list[Any]] = page.evaluate("window.painted")
    page.keyboard.press("Space")
    painted(page)
    return found


def _check(open_page: OpenPage, path: str, start: int, speed: str, least: int) -> None:
    page = _opened(open_page, path, start)
    found = _play(page, speed, least)
    assert [batch for batch, _ in found] == sorted({batch for batch, _ in found})
    assert page.evaluate("window.most") <= 1, page.evaluate("window.who")
    batch, shown = found[-2]
    alone = _opened(open_page, path, batch)
    until(alone, f"({_SHOWN}).length > 20")
    for mine, other in zip(json.loads(shown), json.loads(alone.evaluate(_SHOWN)), strict=True):
        assert mine == other


@pytest.mark.parametrize(("speed", "start", "least"), [("10", START, 5), ("100", 20, 2)])
@pytest.mark.parametrize("path", PATHS)
def test_what_stands_on_a_page_is_of_the_batch_that_plays(
    open_page: OpenPage, path: str, speed: str, start: int, least: int
) -> None:
    _check(open_page, path, start, speed, least)


@pytest.mark.parametrize("path", SYSTEMS)
def test_other_systems_play_at_the_pace_of_their_records(open_page: OpenPage, path: str) -> None:
    _check(open_page, path, 8, "1", 3)
