"""A page opened while a run is being started: a recording plays, then the page is LIVE."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until
from tests.web.site import ENDED, Site, serve

pytestmark = pytest.mark.web


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A store with a recorded run, whose next run has not begun."""
    with serve(tmp_path, awaits=True) as served:
        yield served


def playing(page: Page) -> None:
    expect(page.locator("#pw-opening")).to_have_text("Recording · the live run is starting")
    expect(page.locator("#pw-play")).to_have_attribute("data-playing", "1")
    expect(page.locator("#pw-mode-word")).to_have_text("REPLAY")


def begin(site: Site) -> None:
    site.recording.begin()
    site.feed()


def test_a_recording_plays_until_the_first_batch_and_then_the_page_is_live(
    site: Site, open_page: OpenPage
) -> None:
    page = open_page("/")
    playing(page)
    assert page.evaluate("location.pathname") == "/plan"
    until(page, "planwatch.shown() > 2")
    expect(page.locator(".pw-graph .pw-card").first).to_be_visible()
    site.recording.begin()
    page.wait_for_timeout(1500)  # sleeps: a run without a batch takes nothing away
    playing(page)
    site.feed()
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    expect(page.locator("#pw-opening")).to_be_hidden()
    assert page.evaluate("location.search") == ""
    expect(page.locator(".pw-graph .pw-card").first).to_be_visible()
    site.feed(3)
    until(page, f"planwatch.shown() === {site.recording.next_batch - 1}")


def test_who_took_the_replay_into_their_hands_is_asked(site: Site, open_page: OpenPage) -> None:
    page = open_page("/decisions")
    playing(page)
    until(page, "planwatch.shown() > 0")
    page.keyboard.press("Space")
    expect(page.locator("#pw-play")).to_have_attribute("data-playing", "0")
    begin(site)
    page.get_by_role("button", name="show it").click()
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    assert page.evaluate("location.pathname") == "/decisions"


def test_a_page_reached_by_address_plays_on_and_goes_live(site: Site, open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={ENDED}&at=4")
    playing(page)
    until(page, "planwatch.shown() >= 4")
    page.reload()
    playing(page)
    begin(site)
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    assert page.evaluate("location.search") == ""


def test_a_reload_after_the_first_batch_goes_live(site: Site, open_page: OpenPage) -> None:
    page = open_page("/plan")
    playing(page)
    address = page.url
    page.goto("about:blank")
    begin(site)
    page.goto(address)
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    expect(page.locator("#pw-opening")).to_be_hidden()


def test_a_moment_that_is_frozen_stays(site: Site, open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={ENDED}&at=4&frozen=1")
    expect(page.locator(".pw-graph .pw-card").first).to_be_visible()
    expect(page.locator("#pw-opening")).to_be_hidden()
    expect(page.locator("#pw-play")).to_have_attribute("data-playing", "0")


def test_two_pages_that_open_at_once_both_go_live(site: Site, open_page: OpenPage) -> None:
    pages = [open_page("/plan"), open_page("/plan", scheme="dark", width=390, height=844)]
    for page in pages:
        playing(page)
    until(pages[1], "document.documentElement.scrollWidth <= 390")
    thread = threading.Thread(target=begin, args=(site,))
    thread.start()
    for page in pages:
        expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    thread.join()
