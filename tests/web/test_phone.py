"""A phone reads every page: nothing is wider than the screen, and nothing lies over anything."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage

pytestmark = pytest.mark.web

#: Pairs of what one reads, of which some lie over each other.
_OVERLAPS = """() => {
  const seen = [...document.querySelectorAll(
    ".pw-header > *, .pw-strip > *, .pw-panel, .pw-knob, .pw-dcard-section, .pw-decision-row")]
    .filter((node) => node.checkVisibility({ contentVisibilityAuto: true }))
    .map((node) => [node.className || node.id, node.getBoundingClientRect(), node])
    .filter(([, box]) => box.width > 1 && box.height > 1);
  const over = [];
  for (const [i, [name, a, one]] of seen.entries())
    for (const [other, b, two] of seen.slice(i + 1)) {
      if (one.contains(two) || two.contains(one)) continue;
      if (one.closest(".pw-decision-list") !== two.closest(".pw-decision-list")) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 2) over.push(`${name} and ${other}`);
    }
  return over;
}"""


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        ("/", "dark"),
        ("/plan?run=r1&at=110", "dark"),
        ("/plan?run=r2", "light"),
        ("/matrix?run=r1", "light"),
        ("/timeline?run=r1", "dark"),
        ("/decisions?run=r1&at=110", "light"),
        ("/knobs?run=r2", "dark"),
        ("/results?run=r1", "light"),
        ("/monitor?run=r1", "dark"),
        ("/compare?run=r1", "dark"),
        ("/postmortem?run=r1", "light"),
        ("/sql?run=r1&show=SELECT%20*%20FROM%20batches", "dark"),
    ],
)
def test_a_page_fits_a_phone(open_page: OpenPage, path: str, scheme: str) -> None:
    page = open_page(path, scheme=scheme, width=390, height=844)
    expect(page.locator(".pw-panel, .pw-knob").first).to_be_visible()
    expect(page.locator("#pw-shell")).to_have_attribute("data-painting", "0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(_OVERLAPS) == []
    link = page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")
    expect(link).to_be_in_viewport()


def test_cards_of_the_plan_can_be_read_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=110", width=390, height=844)
    card = page.locator(".pw-card[data-id='asc:air_time']")
    expect(card).to_contain_text("dropped")
    box = card.bounding_box()
    assert box is not None
    assert box["width"] > 100
    assert box["x"] + box["width"] <= 390
    card.click()
    expect(page.locator("#plan-inspector")).to_contain_text("Construct")
