"""The header while panels and tuples are behind: all of it is there, names give way first."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage
from tests.web.site import STALLED

pytestmark = pytest.mark.web

#: As assets/modules/behind.js, stamps.js and header.js put them, at their longest.
_BEHIND: Final = """() => {
  const put = (id, text) => {
    const node = document.getElementById(id);
    Object.assign(node, { textContent: text, title: text, hidden: false });
  };
  put("pw-stream", "intrusions_of_the_west/Packets, Reports, Synthetic");
  const waits = "12.3k tuples wait (4.0 min of work)";
  put("pw-behind", `behind: +3.1k/s, ${waits}, slowest filters of eight 61 %`);
  put("pw-older", "panels ≤ 12 batches old");
  document.getElementById("pw-pace").hidden = false;
}"""
#: Parts of the header beyond its edge, or cut without an ellipsis and a title.
_LOST: Final = """() => {
  const parts = [...document.querySelectorAll(".pw-facts .pw-head-item, .pw-header > *")];
  return parts.filter((node) => {
    if (node.hidden || !node.textContent) return false;
    const isCut = node.scrollWidth > node.clientWidth + 1;
    const hasDots = getComputedStyle(node).textOverflow === "ellipsis";
    const isTold = hasDots && node.title === node.textContent;
    return node.getBoundingClientRect().right > innerWidth || (isCut && !isTold);
  }).map((node) => node.id || node.className);
}"""


@pytest.mark.parametrize("width", [1440, 1280])
def test_what_is_behind_hides_nothing(open_page: OpenPage, width: int) -> None:
    page = open_page(f"/plan?run={STALLED}", width=width, height=800)
    expect(page.locator("#pw-plan")).to_contain_text("Plan")
    page.evaluate(_BEHIND)
    for part in ("#pw-stream", "#pw-plan-age", "#pw-age", "#pw-behind", "#pw-older"):
        expect(page.locator(part)).to_be_visible()
    assert page.evaluate(_LOST) == []
    plan, behind = (page.locator(part).bounding_box() for part in ("#pw-plan", "#pw-behind"))
    assert plan is not None
    assert behind is not None
    assert plan["y"] + plan["height"] <= behind["y"] + 2
    assert behind["y"] + behind["height"] <= 48
