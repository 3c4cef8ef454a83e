"""A phone reads every page: nothing is wider than the screen, and nothing lies over anything."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage, until

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
        ("/memory?run=r1", "light"),
        ("/compare?run=r1", "dark"),
        ("/postmortem?run=r1", "light"),
        ("/sql?run=r1&show=SELECT%20*%20FROM%20batches", "dark"),
    ],
)
def test_a_page_fits_a_phone(open_page: OpenPage, path: str, scheme: str) -> None:
    page = open_page(path, scheme=scheme, width=390, height=844)
    expect(page.locator(".pw-panel:visible, .pw-knob:visible").first).to_be_visible()
    expect(page.locator("#pw-shell")).to_have_attribute("data-painting", "0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(_OVERLAPS) == []
    link = page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")
    expect(link).to_be_in_viewport()


def test_the_timeline_fits_a_phone_with_its_newest_end_and_whole_titles(
    open_page: OpenPage,
) -> None:
    page = open_page("/timeline?run=r1", width=390, height=844)
    until(page, "Boolean(document.querySelector('#pw-timeline-graph .annotation-text'))")
    body = page.locator(".pw-panel-body", has=page.locator("#pw-timeline-graph")).bounding_box()
    assert body is not None
    right = body["x"] + body["width"]
    layout = "document.querySelector('#pw-timeline-graph .js-plotly-plot')._fullLayout"
    size = page.evaluate(f"[{layout}.width, {layout}.margin.l, {layout}.annotations[0].text]")
    assert size[0] <= body["width"]
    assert size[1] <= 48
    assert size[2] == "<b>Tuple dropping ratio d</b> (share of tuples)"
    texts = "#pw-timeline-graph .annotation-text, #pw-timeline-graph .ytick text"
    ends = page.locator(texts).evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert ends
    assert all(body["x"] <= left and end <= right for left, end in ends)


def test_a_finger_scrolls_a_matrix_and_its_legend_is_whole(open_page: OpenPage) -> None:
    page = open_page("/matrix?run=r1", width=390, height=844, touch=True)
    until(page, "Boolean(document.querySelector('#pw-page .nsewdrag'))")
    figure = page.locator(".pw-twin-figure", has=page.locator(".nsewdrag")).first
    frame = figure.bounding_box()
    cells = figure.locator(".nsewdrag").first.bounding_box()
    legend = figure.locator(".colorbar").first.bounding_box()
    assert frame is not None
    assert cells is not None
    assert legend is not None
    assert legend["x"] + legend["width"] <= frame["x"] + frame["width"]
    x, y = cells["x"] + 150, cells["y"] + 100
    finger = page.context.new_cdp_session(page)
    for kind, moved in (("Start", 0), *(("Move", 10 * n) for n in range(1, 11))):
        point = {"type": f"touch{kind}", "touchPoints": [{"x": x - moved, "y": y}]}
        finger.send("Input.dispatchTouchEvent", point)
        page.wait_for_timeout(20)  # sleeps: the pace of a finger
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    figures = "[...document.querySelectorAll('.pw-twin-figure')]"
    until(page, f"{figures}.some(one => one.scrollLeft > 40)", 4)


def test_cards_of_the_plan_can_be_read_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=110", width=390, height=844)
    card = page.locator(".pw-card[data-id='asc:air_time']")
    expect(card).to_contain_text("dropped")
    box = card.bounding_box()
    assert box is not None
    assert box["width"] > 56
    assert box["x"] + box["width"] <= 390
    spilled = """(card) => {
      const edge = card.getBoundingClientRect();
      return [...card.querySelectorAll("text")].filter((text) => {
        const box = text.getBoundingClientRect();
        return box.left < edge.left - 1 || box.right > edge.right + 1;
      }).map((text) => text.textContent);
    }"""
    assert card.evaluate(spilled) == []
    card.click()
    expect(page.locator("#plan-inspector")).to_contain_text("Construct")


#: Texts wider than the box that cuts them off, where nothing scrolls.
_CUT = """() => {
  const cuts = (node) => ["hidden", "clip"].includes(getComputedStyle(node).overflowX);
  const right = (node) => node.getBoundingClientRect().right;
  const told = [];
  for (const node of document.querySelectorAll(".pw-nav-label, .pw-panel *, .pw-header *")) {
    if (!node.checkVisibility() || node.children.length || !node.textContent.trim()) continue;
    if (node.closest(".pw-sr, svg, .js-plotly-plot, select, pre, code, textarea")) continue;
    const box = node.getBoundingClientRect();
    for (let up = node; up && up !== document.body; up = up.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) break;
      const isCut = up === node ? up.scrollWidth > up.clientWidth + 1 : box.right > right(up) + 2;
      if (cuts(up) && isCut) told.push(node.textContent);
    }
  }
  return told;
}"""

PAGES = (
    ("/", "dark"),
    ("/plan?run=r1&at=110", "light"),
    ("/decisions?run=r1&at=110", "dark"),
    ("/knobs?run=r2", "light"),
    ("/matrix?run=r1", "dark"),
    ("/timeline?run=r1", "light"),
    ("/memory?run=r1", "dark"),
    ("/results?run=r1", "light"),
    ("/postmortem?run=r1", "dark"),
)


@pytest.mark.parametrize(("path", "scheme"), PAGES)
def test_a_small_laptop_has_names_in_the_menu_and_whole_words(
    open_page: OpenPage, path: str, scheme: str
) -> None:
    page = open_page(path, scheme=scheme, width=1280, height=720)
    expect(page.locator(".pw-panel:visible, .pw-knob:visible").first).to_be_visible()
    expect(page.locator("#pw-shell")).to_have_attribute("data-painting", "0")
    labels = page.get_by_role("navigation", name="Pages").locator(".pw-nav-label:visible")
    assert labels.count() >= 8
    for label in labels.all():
        box = label.bounding_box()
        assert box is not None
        assert box["width"] > 20
        assert box["height"] < 24, "on one line"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.evaluate(_CUT) == []


@pytest.mark.parametrize("path", ["/plan?run=r1&at=110", "/timeline?run=r1&at=110"])
def test_a_shared_incident_link_shows_its_moment_on_a_phone(open_page: OpenPage, path: str) -> None:
    page = open_page(path, width=390, height=844)
    expect(page.locator("#pw-strip-batch")).to_have_text("batch 110")
    expect(page.locator("#pw-strip")).to_be_in_viewport()
    expect(page.locator(".pw-panel").first).to_be_in_viewport()


def test_a_decision_is_read_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("/decisions?run=r1&at=110&show=11", width=390, height=844)
    card = page.locator("#pw-decision-box")
    card.scroll_into_view_if_needed()
    expect(card).to_contain_text("visits per tuple moved by")
    box = card.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
