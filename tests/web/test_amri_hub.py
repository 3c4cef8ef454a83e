"""The eddy as a hub on the Plan page: ribbons as wide as what goes a step, and their table twin."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from tests.web.axe import violations
from tests.web.conftest import OpenPage, until
from tests.web.recorded_amri import MOVED, RUN, AmriRecording, record_amri
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
PAGE = f"/plan?run={RUN}"
VIEWS = [("dark", 1440, 900), ("light", 390, 844)]
#: Of the ribbons of an origin, step by step and what comes out: widths, px.
WIDTHS = """(origin) => [...document.querySelectorAll(
`#pw-eddy-hub svg [data-origin="${origin}"] .pw-hub-ribbon`)]
.map((path) => parseFloat(getComputedStyle(path).strokeWidth))"""
PATHS = """[...document.querySelectorAll('#pw-eddy-hub svg [data-origin="S"] .pw-hub-ribbon')]
.map((path) => getComputedStyle(path).d)"""


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> AmriRecording:
    """The running run, until just before the route of S changes."""
    return record_amri(site.writer, MOVED)


def hub(page: Page) -> None:
    until(page, "document.querySelectorAll('#pw-eddy-hub .pw-hub-ribbon').length === 9")


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_ribbons_are_as_wide_as_what_goes_each_step(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = open_page(f"{PAGE}&at={MOVED - 1}", scheme=scheme, width=width, height=height)
    hub(page)
    for origin, flows in (("S", [200, 600, 300]), ("T", [200, 400, 100]), ("U", [200, 100, 150])):
        widths = page.evaluate(WIDTHS, origin)
        for (one, other), (before, after) in zip(pairwise(flows), pairwise(widths), strict=True):
            assert after / before == pytest.approx(other / one, rel=0.01)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


def test_a_route_that_is_pressed_stands_out_with_what_is_explored(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED - 1}")
    hub(page)
    route = page.locator('#pw-eddy-hub li[data-origin="T"] button')
    expect(route).to_contain_text("T → S → U")
    expect(route).to_contain_text("200 elements · price 3.00 an element · the cheapest · 2.0")
    route.focus()
    page.keyboard.press("Enter")
    expect(route).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#pw-eddy-hub .pw-hub-others li")).to_have_text("U → S 2.0\u2009%")
    expect(page.locator("#pw-eddy-hub svg .pw-hub-faded")).to_have_count(2)
    expect(page.locator("#pw-eddy-hub .pw-hub-pill text")).to_have_text(["1 ×2.00", "2 ×0.25"])


def test_a_switch_of_a_route_glides_while_the_run_goes_on(
    open_page: OpenPage, run: AmriRecording
) -> None:
    page = open_page(PAGE)
    hub(page)
    before = page.evaluate(PATHS)
    page.evaluate("""window.glides = 0;
    document.addEventListener("transitionrun", (event) => {
      if (event.propertyName === "d") window.glides += 1;
    });""")
    run.write()
    expect(page.locator('#pw-eddy-hub li[data-origin="S"] button')).to_contain_text("S → U → T")
    until(page, "window.glides > 0")
    drawn = json.dumps(before, separators=(",", ":"))
    until(page, f"JSON.stringify({PATHS}) !== {json.dumps(drawn)}")


def test_the_table_has_price_share_and_alternatives(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED - 1}")
    hub(page)
    page.locator("#pw-eddy-hub .pw-twin-switch").click()
    rows = page.locator('#pw-eddy-hub .pw-twin-table tr[data-origin="S"]')
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("in force")
    expect(rows.nth(1)).to_contain_text("5.00")
    expect(rows.nth(1)).to_contain_text("2.0\u2009%")
