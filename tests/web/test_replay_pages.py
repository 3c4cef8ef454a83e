"""A replay that plays moves every page: it shows what a page opened at that batch shows."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until

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
_FIGURE = "document.querySelector('#pw-{}-graph .js-plotly-plot')"
_TEXT = "(document.querySelector('{}') || {{}}).innerText"
_CELLS = f"JSON.stringify((({_FIGURE.format('selectivity')} || {{}}).data || [])[1]?.z)"
_CURSOR = (
    f"((({_FIGURE.format('timeline')} || {{}}).layout || {{}}).shapes || [])"
    ".filter((one) => one.name === 'cursor').map((one) => String(one.x0)).join()"
)
#: Soon there is another decision.
START = 100
#: By address what is compared; each of these changes from batch to batch.
PAGES = {
    "/plan?run=r1&node=asc:dep_delay": _TEXT.format(".pw-plan-side"),
    "/matrix?run=r1": _CELLS,
    "/timeline?run=r1": _CURSOR,
    "/monitor?run=r1": _TEXT.format("#pw-monitor-body"),
    "/decisions?run=r1": _TEXT.format("#pw-decision-body"),
    "/results?run=r1": _TEXT.format("#pw-queries-body"),
}


def _settled(page: Page) -> None:
    until(page, "document.getElementById('pw-shell').dataset.painting === '0'")


@pytest.mark.parametrize(("speed", "start", "least"), [("10", START, 5), ("100", 20, 2)])
@pytest.mark.parametrize("path", PAGES)
def test_what_stands_on_a_page_is_of_the_batch_that_plays(
    open_page: OpenPage, path: str, speed: str, start: int, least: int
) -> None:
    page = open_page(f"{path}&at={start}")
    expect(page.locator("#pw-strip-batch")).to_have_text(f"batch {start}")
    until(page, f"!!({PAGES[path]})")
    _settled(page)
    page.evaluate(_WATCH, PAGES[path])
    page.get_by_label("Replay speed").select_option(speed)
    page.get_by_role("button", name="Play (space)").click()
    texts = "new Set(painted.map(([batch, text]) => text))"
    until(page, f"{texts}.size > 1 && painted.length >= {least}", 20)
    page.keyboard.press("Space")
    found: list[list[Any]] = page.evaluate("window.painted")
    assert [batch for batch, _ in found] == sorted({batch for batch, _ in found})
    batch, shown = found[-2]
    alone = open_page(f"{path}&at={batch}")
    until(alone, f"!!({PAGES[path]})")
    _settled(alone)
    assert alone.evaluate(f"{PAGES[path]}") == shown
