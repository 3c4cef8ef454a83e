"""The thrash detector on the Timeline page: loops boxed, listed with what would avoid them."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage, until
from tests.web.recorded_hybrid import record_hybrid
from tests.web.site import Site

pytestmark = pytest.mark.web
PLOT = "document.querySelector('#pw-timeline-graph .js-plotly-plot')"
SLOW_S = 40.0  # plotly is large, and test machines are busy


@pytest.fixture(scope="module", autouse=True)
def hybrid(site: Site) -> None:
    """The run h1, which goes back and forth."""
    record_hybrid(site.writer, "h1", time.time() - 20_000)


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_a_loop_is_boxed_and_listed(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = open_page("/timeline?run=h1", scheme=scheme, width=width, height=height)
    until(page, f"!!({PLOT} && {PLOT}.layout && ({PLOT}.layout.shapes || []).length)", SLOW_S)
    assert page.evaluate(f"{PLOT}.layout.shapes.map(shape => shape.name)") == ["loop"]
    loop = page.locator(".pw-loop")
    expect(loop).to_have_count(1)
    expect(loop).to_contain_text("dep_delay → distance → dep_delay → distance")
    expect(loop).to_contain_text("saved 4.3k visits")
    expect(loop).to_contain_text("Going back and forth paid")
    expect(loop).not_to_contain_text("avoided")
    expect(loop.locator("tbody tr")).to_have_count(3)
    page.evaluate("planwatch.go({at: 50})")
    until(page, f"{PLOT}.layout.shapes.length === 2")
    page.evaluate("planwatch.go({at: null})")
    until(page, f"{PLOT}.layout.shapes.length === 1")
    loop.get_by_role("link", name="decision").first.click()
    expect(page).to_have_url(re.compile(r"/decisions.*node=\d+"))


def test_a_run_without_loops_has_no_list(open_page: OpenPage) -> None:
    page = open_page("/timeline?run=r1")
    until(page, f"!!({PLOT} && {PLOT}.data && {PLOT}.data.length > 8)", SLOW_S)
    expect(page.locator("#pw-loops-box")).to_be_hidden()
