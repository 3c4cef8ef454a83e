"""A replay moves the whole page: one request in flight, and no two parts speak of two batches."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until
from tests.web.site import N_ENDED

pytestmark = pytest.mark.web

_SLOW_SERVER = """delay => {
  const ask = window.fetch;
  window.flights = { now: 0, most: 0 };
  window.fetch = async (...wanted) => {
    const asked = String(wanted[0].url || wanted[0]).includes("_dash-update-component");
    if (!asked) return ask(...wanted);
    const body = JSON.parse(wanted[1].body);
    const graph = body.output.includes("plan-graph");
    if (graph) flights.most = Math.max(flights.most, flights.now += 1);
    await new Promise((done) => setTimeout(done, delay));
    try { return await ask(...wanted); } finally { if (graph) flights.now -= 1; }
  };
}"""
#: What is on screen at each frame: header, graph, strip, and whether the page says it waits.
_WATCH = """() => {
  window.frames_seen = [];
  const text = (id) => document.getElementById(id).textContent;
  const look = () => {
    const graph = document.getElementById("plan-graph");
    frames_seen.push({
      header: text("pw-plan"),
      plan: "Plan " + graph.dataset.version,
      batch: Number(graph.dataset.batch),
      waits: document.getElementById("pw-shell").dataset.painting === "1",
      word: text("pw-strip-batch"),
    });
    requestAnimationFrame(look);
  };
  look();
}"""


def play(page: Page, speed: str) -> list[dict[str, Any]]:
    """Play to the end of the run; what each frame showed."""
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "90")
    until(page, "document.getElementById('pw-shell').dataset.painting === '0'")
    page.evaluate(_WATCH)
    page.get_by_label("Replay speed").select_option(speed)
    page.get_by_role("button", name="Play (space)").click()
    last = str(N_ENDED - 1)
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", last)
    expect(page.get_by_role("button", name="Play (space)")).to_be_visible()
    found: list[dict[str, Any]] = page.evaluate("window.frames_seen")
    return found


@pytest.mark.parametrize(("speed", "delay_ms"), [("10", 0), ("50", 400)])
def test_graph_and_header_play_together(open_page: OpenPage, speed: str, delay_ms: int) -> None:
    page = open_page("/plan?run=r1&at=90")
    page.evaluate(_SLOW_SERVER, delay_ms)
    frames = play(page, speed)
    shown = [frame["batch"] for frame in frames]
    assert len(set(shown)) >= 3, "the graph jumped to the end"
    assert shown == sorted(shown)
    apart = [frame for frame in frames if frame["header"] != frame["plan"]]
    assert all(frame["waits"] for frame in apart)
    assert page.evaluate("window.flights.most") == 1
    words = {frame["word"].split()[0] for frame in frames}
    assert "loading" in words or not delay_ms


def test_a_hand_on_the_strip_asks_for_one_batch_at_a_time(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=90")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "90")
    page.evaluate(_SLOW_SERVER, 400)
    page.locator("#pw-scrubber").evaluate(
        """async (slider) => {
          for (let batch = 91; batch <= 140; batch += 1) {
            slider.value = batch;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((done) => setTimeout(done, 20));
          }
        }"""
    )
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "140")
    assert "at=140" in page.url
    assert page.evaluate("window.flights.most") == 1


def test_steps_by_key_are_not_lost_while_the_page_paints(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=90")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "90")
    page.evaluate(_SLOW_SERVER, 300)
    for _ in range(5):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "95")
    assert page.evaluate("window.flights.most") == 1
