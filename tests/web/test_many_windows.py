"""More windows of one browser than it has connections to a server: all load, stay live and act."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from dashboard.serving.live import STREAMS_OF_BROWSER
from tests.web.conftest import asking, painted, until, visit
from tests.web.site import RUNNING, Site

N_WINDOWS = 7


def test_the_seventh_window_loads_and_the_first_still_acts(browser: Browser, site: Site) -> None:
    with browser.new_context() as context:
        pages = [context.new_page() for _ in range(N_WINDOWS)]
        for page in pages:
            visit(page, f"{site.url}/plan?run={RUNNING}")
            painted(page)
        links = ["stream"] * STREAMS_OF_BROWSER + ["poll"] * (N_WINDOWS - STREAMS_OF_BROWSER)
        for page, link in zip(pages, links, strict=True):
            expect(page.locator("#pw-shell")).to_have_attribute("data-link", link)
        with site.feeding():
            for page in pages:
                until(page, f"planwatch.known.now > {site.recording.next_batch}")
        with asking(pages[0], site.reader, RUNNING):
            pages[0].keyboard.press("h")
