"""The guided demo: eight stops by keyboard, each points at something, turns are made when told."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until
from tests.web.site import Site

pytestmark = pytest.mark.web

PATHS = (
    "/plan",
    "/plan",
    "/decisions",
    "/matrix",
    "/knobs",
    "/timeline",
    "/knobs",
    "/postmortem",
)


def at_stop(page: Page, number: int) -> None:
    expect(page.locator("#pw-tour-place")).to_contain_text(f"{number} of 8")
    expect(page.locator("#pw-tour-title")).not_to_be_empty()
    assert page.evaluate("location.pathname") == PATHS[number - 1]


def points_at_something(page: Page) -> None:
    """The frame surrounds what the stop looks at, and the box leaves most of the window alone."""
    frame = page.locator(".pw-tour-frame")
    expect(frame).to_be_visible()
    box = frame.bounding_box()
    assert box is not None
    assert box["width"] > 100
    assert box["height"] > 20
    expect(page.locator("#pw-tour")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_all_eight_stops_by_keyboard_there_and_back(
    site: Site, open_page: OpenPage, scheme: str
) -> None:
    page = open_page("/plan?tour=1", scheme=scheme)
    with site.feeding():
        expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
        for number in range(1, 9):
            at_stop(page, number)
            points_at_something(page)
            if number < 8:
                page.keyboard.press("PageDown")
        expect(page.locator("#pw-tour-next")).to_have_text("Finish")
        page.keyboard.press("PageUp")
        at_stop(page, 7)
        page.reload()
        at_stop(page, 7)
        page.keyboard.press("Escape")
    expect(page.locator("#pw-tour")).to_have_count(0)
    assert "tour" not in page.evaluate("location.search")
    assert page.evaluate("location.pathname") == "/knobs"


def test_turns_are_made_when_told_and_taken_back(site: Site, open_page: OpenPage) -> None:
    page = open_page("/knobs?tour=5")
    said = page.locator("#pw-tour-said")
    with site.feeding():
        expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
        box = page.locator("[data-knob='mu'] .pw-number input")
        box.fill("0.2")
        box.press("Enter")
        expect(page.locator("[data-knob='mu']")).to_have_attribute("data-value", "0.2")
        page.get_by_role("button", name="Turn μ up tenfold").click()
        expect(said).to_contain_text("0.2 → 2: applied at batch")
        assert site.recording.values["mu"] == 2
        page.get_by_role("button", name="Next", exact=True).click()
        page.get_by_role("button", name="Turn μ back").click()
        expect(said).to_contain_text("2 → 0.2: applied at batch")
    assert site.recording.values["mu"] == 0.2, "as it was before the tour, not its default"


def test_time_stands_still_when_told_and_goes_on_at_the_next_stop(
    site: Site, open_page: OpenPage
) -> None:
    page = open_page("/plan?tour=2")
    with site.feeding():
        expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
        page.get_by_role("button", name="Freeze the page").click()
        expect(page.locator("#pw-mode-word")).to_have_text("FROZEN")
        at_stop(page, 2)
        page.keyboard.press("PageDown")
        expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
        at_stop(page, 3)


def test_the_stop_at_the_decisions_shows_one_that_changed_the_plan(open_page: OpenPage) -> None:
    page = open_page("/plan?tour=2")
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    page.keyboard.press("PageDown")
    at_stop(page, 3)
    expect(page.locator("#pw-decision-box .pw-badge").first).to_have_text("▲ switched")
    page.keyboard.press("PageDown")
    at_stop(page, 4)
    assert "show=" not in page.evaluate("location.search")


def test_a_turn_of_a_past_run_is_not_made(site: Site, open_page: OpenPage) -> None:
    page = open_page("/knobs?run=r1&tour=5")
    expect(page.locator("#pw-mode-word")).to_have_text("REPLAY")
    page.get_by_role("button", name="Turn μ up tenfold").click()
    expect(page.locator("#pw-tour-said")).to_contain_text("not live yet")


def test_the_tour_is_in_the_help_and_fits_a_phone(site: Site, open_page: OpenPage) -> None:
    page = open_page("/", width=390, height=844)
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    page.keyboard.press("?")
    page.get_by_role("button", name="Guided tour").click()
    at_stop(page, 1)
    until(page, "document.documentElement.scrollWidth <= 390")
    expect(page.locator("#pw-tour")).to_be_in_viewport(ratio=1)
