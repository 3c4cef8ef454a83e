"""A browser whose clock is another than the engine's: what the page says goes by the engine's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.web.conftest import PATIENCE_S, painted, until, visit
from tests.web.site import Site

pytestmark = pytest.mark.web
_SHIFTED = """(by => {
  const There = Date;
  window.Date = class extends There {
    constructor(...given) { if (given.length) super(...given); else super(There.now() + by); }
    static now() { return There.now() + by; }
  };
})(%d)"""
ShiftedPage = Callable[[str, int], Page]


@pytest.fixture
def shifted_page(browser: Browser, site: Site) -> Iterator[ShiftedPage]:
    """shifted_page("/plan", 3600): a page in a browser whose clock is an hour ahead."""
    contexts: list[BrowserContext] = []

    def opened(path: str, by_s: int) -> Page:
        contexts.append(browser.new_context())
        contexts[-1].add_init_script(_SHIFTED % (1000 * by_s))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        visit(page, site.url + path)
        painted(page)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("by_s", [3600, -3600, 15, -15, 86400])
def test_a_clock_of_the_browser_that_is_off_changes_nothing(
    shifted_page: ShiftedPage, site: Site, by_s: int
) -> None:
    site.feed()
    page = shifted_page("/plan", by_s)
    assert page.evaluate("Date.now() / 1000") - time.time() == pytest.approx(by_s, abs=5)
    until(page, said("age", r" ([1-9]|[1-3]\d)([.]\d)? s( old)?$"))
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    until(page, said("plan-age", r"^· (\d+([.]\d)? s|[1-4] min) old$"))
    with site.feeding():
        until(page, said("age", r"^data [0-3][.]\d s old$"))
        expect(page.locator("#pw-run-state")).to_have_text("running")


def said(part: str, pattern: str) -> str:
    """That a part of the header says something."""
    return f"/{pattern}/.test(document.querySelector('#pw-{part}').textContent)"
