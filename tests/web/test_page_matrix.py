"""The Matrix page: both matrices, the picker, their table twins, the moment."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until

pytestmark = pytest.mark.web
SELECTIVITY = "document.querySelector('#pw-selectivity-graph .js-plotly-plot')"
REGIONS = "document.querySelector('#pw-regions-graph .js-plotly-plot')"
SLOW_S = 40.0  # plotly is large, and test machines are busy


def drawn(page: Page) -> Page:
    """Wait for the upper figure."""
    until(page, f"!!({SELECTIVITY} && {SELECTIVITY}.data && {SELECTIVITY}.data.length > 2)", SLOW_S)
    return page


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_both_matrices_are_drawn(open_page: OpenPage, scheme: str, width: int, height: int) -> None:
    page = drawn(
        open_page(
            "/matrix?run=r1&at=120&node=asc:dep_delay", scheme=scheme, width=width, height=height
        )
    )
    assert page.evaluate(f"{SELECTIVITY}.data[1].z.length") == 12
    until(page, f"{REGIONS}.data.length === 2")
    assert page.evaluate(f"{REGIONS}.data[0].z.length") == 6
    labels = page.evaluate(f"{REGIONS}.layout.yaxis.ticktext")
    assert labels[0] == "NULL"
    assert labels[1] == "(−∞, 15)"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_matrices_are_those_of_the_moment(open_page: OpenPage) -> None:
    page = drawn(open_page("/matrix?run=r1&at=30"))
    note = page.locator("#pw-selectivity-note")
    expect(note).to_contain_text("as of batch 25")
    page.evaluate("planwatch.go({at: 80})")
    expect(note).to_contain_text("as of batch 75", timeout=15_000)


def test_the_picker_is_reached_by_keyboard_and_kept_in_the_url(open_page: OpenPage) -> None:
    page = drawn(open_page("/matrix?run=r1&at=30"))
    picker = page.get_by_role("navigation", name="Constructs in plan order")
    picker.get_by_role("link").filter(has_text="dep_delay").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("node=asc%3Adep_delay"))
    chosen = picker.locator("[aria-current]")
    expect(chosen).to_contain_text("dep_delay", timeout=15_000)


def test_tables_have_the_same_numbers(open_page: OpenPage) -> None:
    page = drawn(open_page("/matrix?run=r1&at=120&node=asc:dep_delay"))
    until(page, f"{REGIONS}.data.length === 2")
    bits = page.evaluate(f"{REGIONS}.data[0].z")
    page.keyboard.press("t")
    rows = page.locator("#pw-regions-table tbody tr")
    expect(rows).to_have_count(6)
    cells = rows.nth(1).locator("td").all_inner_texts()
    assert [int(cell) for cell in cells[2:]] == bits[1]


def test_regions_nobody_recorded_leave_nothing_to_save(open_page: OpenPage) -> None:
    page = drawn(open_page("/matrix?run=r1&at=120&node=asc:dep_delay"))
    until(page, f"{REGIONS}.data.length === 2")
    picked = page.get_by_role("navigation", name="Constructs in plan order").get_by_role("link")
    picked.filter(has_text="visib").click()
    panel = page.locator("#pw-regions")
    expect(panel).to_contain_text("no bitmap of this construct")
    until(page, "!document.querySelector('#pw-regions-graph .pw-plot').textContent")
    panel.locator(".pw-more summary").click()
    panel.get_by_role("button", name="SVG").click()
    expect(page.get_by_text("Nothing is drawn here yet")).to_be_attached()
    picked.filter(has_text="dep_delay").click()
    until(page, f"{REGIONS}.data && {REGIONS}.data.length === 2")
