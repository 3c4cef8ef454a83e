"""A replay that plays moves every page: what stands there is what a page opened at that batch shows."""

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
_Z = "JSON.stringify(document.querySelector('#pw-selectivity-graph .js-plotly-plot').data[1].z)"
#: By address what is compared; each of these changes from batch to batch.
PAGES = {
    "/plan?run=r1&node=asc:dep_delay": "document.querySelector('.pw-plan-side').innerText",
    "/matrix?run=r1": _Z,
    "/timeline?run=r1": "document.querySelector('[data-cursor]').dataset.cursor",
    "/monitor?run=r1": "document.getElementById('pw-monitor-body').innerText",
    "/decisions?run=r1": "document.getElementById('pw-decision-body').innerText",
    "/results?run=r1": "document.getElementById('pw-queries-body').innerText",
}


def _settled(page: Page) -> None:
    until(page, "document.getElementById('pw-shell').dataset.painting === '0'")


@pytest.mark.parametrize("speed", ["10", "100"])
@pytest.mark.parametrize("path", PAGES)
def test_what_stands_on_a_page_is_of_the_batch_that_plays(
    open_page: OpenPage, path: str, speed: str
) -> None:
    page = open_page(f"{path}&at=60")
    expect(page.locator("#pw-strip-batch")).to_have_text("batch 60")
    until(page, f"!!({PAGES[path]})")
    _settled(page)
    page.evaluate(_WATCH, PAGES[path])
    page.get_by_label("Replay speed").select_option(speed)
    page.get_by_role("button", name="Play (space)").click()
    until(page, "window.painted.length >= 5")
    page.keyboard.press("Space")
    found: list[list[Any]] = page.evaluate("window.painted.slice(0, 5)")
    assert [batch for batch, _ in found] == sorted({batch for batch, _ in found})
    assert len({text for _, text in found}) > 1, "nothing on the page moved"
    batch, shown = found[3]
    alone = open_page(f"{path}&at={batch}")
    until(alone, f"!!({PAGES[path]})")
    _settled(alone)
    assert alone.evaluate(f"{PAGES[path]}") == shown
