"""The Runs page: what runs, what needs somebody, and the way into a run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage
from tests.web.site import Site

pytestmark = pytest.mark.web


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_runs_are_listed_newest_first_with_their_numbers(
    open_page: OpenPage, site: Site, scheme: str, width: int, height: int
) -> None:
    runs = site.reader.runs()
    page = open_page("/", scheme=scheme, width=width, height=height)
    rows = page.locator("tr[data-run]")
    expect(rows).to_have_count(len(runs))
    shown = rows.evaluate_all("all => all.map(row => row.dataset.run)")
    assert shown == [run.id for run in runs]
    expect(page.locator("tr[data-run=r2]")).to_contain_text("running")
    ended = page.locator("tr[data-run=r1]")
    expect(ended).to_contain_text("ended")
    expect(ended.locator("td").nth(2)).to_have_text("40\u2009000")
    expect(ended).to_contain_text("1 tuple kept aside")
    expect(page.locator(".pw-runs-panel .pw-panel-note")).to_contain_text("running")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_phone_shows_what_a_run_needs_and_a_misfit_of_an_ended_run_is_a_note(
    open_page: OpenPage,
) -> None:
    page = open_page("/", width=390, height=844)
    expect(page.locator(".pw-runs-panel .pw-panel-note")).to_contain_text("2 need attention")
    need = page.locator("tr[data-run=r3] .pw-runs-need")
    expect(need).to_contain_text("The engine was killed")
    expect(page.locator("tr[data-run=r1] .pw-runs-need.pw-ink-info")).to_contain_text("misfit")
    box = need.bounding_box()
    frame = page.locator(".pw-runs-panel .pw-panel-body").bounding_box()
    assert box is not None
    assert frame is not None
    assert box["x"] + box["width"] <= frame["x"] + frame["width"]


def test_enter_on_a_run_opens_its_plan(open_page: OpenPage) -> None:
    page = open_page("/")
    page.get_by_role("link", name="r1", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/plan\?run=r1"))
    page.wait_for_selector("#plan-graph svg")


def test_a_click_anywhere_on_the_row_opens_the_run(open_page: OpenPage) -> None:
    page = open_page("/?run=r1&at=40")
    page.locator("tr[data-run=r2] td").nth(3).click()
    expect(page).to_have_url(re.compile(r"/plan\?run=r2$"))


def test_the_table_follows_the_running_run(open_page: OpenPage, site: Site) -> None:
    page = open_page("/")
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")
    tuples = page.locator("tr[data-run=r2] td").nth(2)
    before = tuples.inner_text()
    with site.feeding():
        expect(tuples).not_to_have_text(before, timeout=15_000)
