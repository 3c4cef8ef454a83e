"""Hard words: underlined where the page first says them, explained by a click or a key."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until
from tests.web.site import ENDED

pytestmark = pytest.mark.web
WORDS = "[...(CSS.highlights.get('pw-hard') || [])]"


def opened(open_page: OpenPage) -> Page:
    page = open_page(f"/plan?run={ENDED}")
    until(page, f"{WORDS}.length > 2")
    return page


def test_a_click_on_a_word_says_what_it_means(open_page: OpenPage) -> None:
    page = opened(open_page)
    place = page.evaluate(
        f"(() => {{ const word = {WORDS}.find((range) => range.toString().startsWith('plan'));"
        "const { x, y } = word.getBoundingClientRect(); return [x + 3, y + 5]; })()"
    )
    page.mouse.click(*place)
    expect(page.locator(".pw-word")).to_contain_text("how a unit evaluates its queries")
    page.keyboard.press("Escape")
    expect(page.locator(".pw-word")).to_have_count(0)
    assert page.evaluate("location.search").startswith(f"?run={ENDED}"), "nothing else happened"


def test_a_key_lists_the_words_of_the_page_first(open_page: OpenPage) -> None:
    page = opened(open_page)
    page.keyboard.press("w")
    expect(page.locator("#pw-words h3").first).to_have_text("On this page")
    expect(page.locator("#pw-words dt")).not_to_have_count(0)
    page.locator("#pw-words-close").click()
    expect(page.locator("#pw-words")).to_be_hidden()
