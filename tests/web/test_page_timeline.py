"""The Timeline page: one figure with all panels, live, with a cursor, lanes and a table twin."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until
from tests.web.site import Site

pytestmark = pytest.mark.web
PLOT = "document.querySelector('#pw-timeline-graph .js-plotly-plot')"
SLOW_S = 40.0  # plotly is large, and test machines are busy


def drawn(page: Page) -> Page:
    """Wait for the figure."""
    until(page, f"!!({PLOT} && {PLOT}.data && {PLOT}.data.length > 8)", SLOW_S)
    return page


def lane(kind: str) -> str:
    """The trace of a lane, as JavaScript."""
    return f"{PLOT}.data.find(trace => trace.meta && trace.meta.lane === '{kind}')"


def points(name: str) -> str:
    """How many points the trace of a property has, as JavaScript."""
    return f"{PLOT}.data.find(trace => trace.meta && trace.meta.pts === '{name}').x.length"


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_panels_lanes_and_bands_are_drawn(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = drawn(open_page("/timeline?run=r1", scheme=scheme, width=width, height=height))
    assert page.evaluate(points("visits_per_tuple")) == 200
    assert page.evaluate(f"{lane('rearrangement')}.x.length") == 4
    assert page.evaluate(f"{lane('query')}.x.length") == 1
    edges = f"{PLOT}.data.filter(trace => trace.meta && trace.meta.band).length"
    assert page.evaluate(edges) == 4
    assert page.evaluate(f"{PLOT}.layout.hovermode") == "x unified"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_cursor_follows_the_moment_without_a_redraw(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    assert page.evaluate(f"({PLOT}.layout.shapes || []).length") == 0
    page.evaluate("window.asked = 0; planwatch.go({at: 60})")
    until(page, f"({PLOT}.layout.shapes || []).length === 1")
    time = page.evaluate(f"{PLOT}.layout.shapes[0].x0")
    assert time == page.evaluate(f"{PLOT}.data.find(t => t.meta && t.meta.pts).x[60]")


def test_live_points_extend_the_traces(open_page: OpenPage, site: Site) -> None:
    page = drawn(open_page("/timeline"))
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")
    before = page.evaluate(points("visits_per_tuple"))
    site.feed(5, 0.1)
    until(page, f"{points('visits_per_tuple')} >= {before + 5}")
    newest = f"{PLOT}.data.filter(t => t.meta && (t.meta.live || t.meta.pts || t.meta.band))"
    ends = f"new Set({newest}.map(trace => trace.x[trace.x.length - 1]))"
    until(page, f"{ends}.size === 1")


def test_the_table_twin_lists_events_that_lead_to_their_batch(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    page.keyboard.press("t")
    table = page.locator(".pw-timeline-events")
    expect(table).to_be_visible()
    row = table.locator("tr", has_text="Plan 3").first
    row.get_by_role("link", name="110").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("at=110"))


def test_a_click_on_an_event_goes_to_its_batch(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    until(page, f"!!{PLOT}._fullLayout.yaxis6")
    place = page.evaluate(
        f"(() => {{ const gd = {PLOT}, full = gd._fullLayout, box = gd.getBoundingClientRect();"
        f" const mark = {lane('rearrangement')};"
        " const y = full[mark.yaxis.replace('y', 'yaxis')];"
        " return [box.left + full.xaxis._offset + full.xaxis.d2p(mark.x[1]),"
        " box.top + y._offset + y.d2p(0)]; })()"
    )
    page.mouse.move(place[0], place[1])
    page.wait_for_timeout(300)
    page.mouse.click(place[0], place[1])
    expect(page).to_have_url(re.compile("at=110"), timeout=10_000)
