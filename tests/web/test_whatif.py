"""What-if μ on the Timeline page: the ghost of a run made by the engine, and taking μ live."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.unit.asc.stream import tuples
from tests.web.axe import violations
from tests.web.conftest import OpenPage, asking, until
from tests.web.engine_run import UNIT, SelectionRun
from tests.web.site import Site

pytestmark = pytest.mark.web
PLOT = "document.querySelector('#pw-whatif-graph .js-plotly-plot')"
SLOW_S = 40.0  # plotly is large, and test machines are busy


@pytest.fixture(scope="module", autouse=True)
def ghostly(site: Site) -> Iterator[SelectionRun]:
    """The run e2, made by the engine with μ = 0.05; it rearranges with the drift."""
    run = SelectionRun(site.path, "e2", ordering="macro").drift()
    yield run
    run.close()


def lane(kind: str) -> str:
    """Markers of a lane, as JavaScript."""
    return f"{PLOT}.data.find(trace => trace.meta && trace.meta.whatif === '{kind}').x.length"


def row(page: Page, place: int) -> Locator:
    return page.locator(".pw-whatif-runs tbody tr").nth(place)


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_the_ghost_slider_decides_the_run_again(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = open_page("/timeline?run=e2", scheme=scheme, width=width, height=height)
    until(page, f"!!({PLOT} && {PLOT}.data && {PLOT}.data.length === 5)", SLOW_S)
    common = page.evaluate(lane("common"))
    assert common >= 2
    assert page.evaluate(f"{lane('vanishes')} + {lane('appears')}") == 0
    recorded, ghost = row(page, 0).inner_text().split("\t"), row(page, 1).inner_text().split("\t")
    assert recorded[1] == ghost[1]
    slider = page.get_by_role("slider", name="What if μ were")
    slider.focus()
    page.keyboard.press("End")
    expect(row(page, 1)).to_contain_text("at μ = 10")
    until(page, f"{lane('vanishes')} === {common} && {lane('common')} === 0")
    words = page.locator(".pw-whatif-words")
    expect(page).to_have_url(re.compile("show=10"))
    expect(words).to_contain_text(re.compile(rf"{common} would vanish, 0 would appear.*n = \d"))
    expect(page.locator("#pw-whatif-box")).to_contain_text("estimated")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page, "#pw-whatif-box") == []
    page.locator("#pw-whatif-box").get_by_role("button", name="Table").click()
    lines = page.locator("#pw-whatif-table tbody tr", has_text="would vanish")
    expect(lines).to_have_count(common)


def test_a_tried_mu_is_taken_live(open_page: OpenPage, ghostly: SelectionRun, site: Site) -> None:
    page = open_page("/timeline?run=e2&show=0.3")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    box = page.locator(".pw-whatif")
    expect(row(page, 1)).to_contain_text("at μ = 0.3")  # of the link
    box.get_by_label("ghost μ", exact=True).fill("0.4")
    expect(row(page, 1)).to_contain_text("at μ = 0.4")
    chip = box.locator(".pw-chip")
    with asking(page, site.reader, "e2"):
        box.get_by_role("button", name="Apply live").click()
        expect(chip).to_have_attribute("data-phase", "pending")
    ghostly.run(tuples(250, 3))
    expect(chip).to_contain_text("applied at batch")
    assert ghostly.loop.settings.scopes[UNIT].number("mu") == 0.4


def test_a_run_without_trials_has_no_ghost(open_page: OpenPage) -> None:
    page = open_page("/timeline?run=r1")
    graph = "document.querySelector('#pw-timeline-graph .js-plotly-plot')"
    until(page, f"!!({graph} && {graph}.data && {graph}.data.length > 8)", SLOW_S)
    expect(page.locator("#pw-whatif-box")).to_be_hidden()
