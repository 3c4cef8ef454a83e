"""The Post-mortem page: the story, notes, and the file that opens without a server."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from dashboard.report import page_of
from dashboard.report.postmortem import records_of
from tests.web.axe import violations
from tests.web.conftest import OpenPage, until
from tests.web.joins_run import JoinsRun
from tests.web.site import Site

ColorScheme = Literal["dark", "light"]

pytestmark = pytest.mark.web


def test_the_story_links_to_its_records_and_takes_notes(open_page: OpenPage) -> None:
    page = open_page("/postmortem?run=r1&at=120")
    lines = page.locator(".pw-story li")
    expect(lines.first).to_be_visible()
    expect(page.locator(".pw-story-opening")).to_contain_text("The plan changed")
    page.locator("#pw-note-text").fill("here the feed was changed")
    page.get_by_role("button", name="Pin a note to this moment").click()
    note = page.locator(".pw-story li[data-kind=note]")
    expect(note).to_contain_text("noted: here the feed was changed")
    expect(note).to_contain_text("batch 120")
    expect(page.locator("#pw-note-text")).to_have_value("")
    page.locator(".pw-story li[data-kind=rearrangement]").first.get_by_text("record").click()
    until(page, "location.pathname === '/decisions'")
    expect(page.locator(".pw-dcard-section").first).to_be_visible()
    page.go_back()
    note.get_by_role("button", name="Withdraw the note").click()
    page.get_by_role("button", name="Forget it").click()
    expect(note).to_have_count(0)


def test_the_file_opens_from_a_folder_without_a_server(
    open_page: OpenPage, browser: Browser, tmp_path: Path
) -> None:
    page = open_page("/postmortem?run=r1")
    with page.expect_download() as found:
        page.get_by_role("link", name="Save as one HTML file").click()
    path = tmp_path / "told.html"
    found.value.save_as(path)
    assert path.stat().st_size < 2_000_000
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    alone = context.new_page()
    troubles: list[str] = []
    alone.on("pageerror", lambda error: troubles.append(str(error)))
    asked: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(path.as_uri())
    expect(alone.locator("#batch")).to_have_text("batch 199")
    expect(alone.locator("#plans p").first).to_contain_text("plan 5")
    slider = alone.get_by_role("slider", name="Batch")
    slider.focus()
    alone.keyboard.press("Home")
    expect(alone.locator("#plans p").first).to_contain_text("plan 1")
    expect(alone.locator("#batch")).to_have_text("batch 0")
    alone.locator("#story li", has_text="Plan 3").click()
    expect(alone.locator("#batch")).to_have_text("batch 110")
    expect(alone.locator("#clock")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d UTC$"))
    alone.locator("#decisions").scroll_into_view_if_needed()
    expect(alone.locator("#decisions li.here")).to_be_in_viewport()
    expect(alone.locator("#decisions li.here")).to_contain_text("0.310 > 0.100")
    expect(alone.locator(".card", has_text="air_time").locator("strong")).to_have_text(
        re.compile(r"^\d+\.\d %$")
    )
    expect(alone.locator("#lines svg")).to_have_count(4)
    assert violations(alone) == []
    assert troubles == []
    assert [url for url in asked if not url.startswith("file:")] == []
    context.close()


#: Texts of cards that are cut off or lie over another card, and whether the page is too wide.
_TROUBLES = """() => {
  const all = (query) => [...document.querySelectorAll(query)];
  const box = (node) => node.getBoundingClientRect();
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const cut = (one) => one.scrollWidth > one.clientWidth + 1
    || one.scrollHeight > one.clientHeight + 1;
  const cards = all(".card");
  const lies = (one) => cards.some((two) => one !== two && one.parentNode === two.parentNode
    && over(box(one), box(two)));
  const found = [...cards.filter((one) => cut(one) || lies(one)),
    ...all("#lines text").filter((one) => box(one).height < 12)].map((one) => one.textContent);
  return document.documentElement.scrollWidth > window.innerWidth ? [...found, "wide"] : found;
}"""


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_file_can_be_read_on_a_phone_as_on_a_desk(
    site: Site, browser: Browser, tmp_path: Path, scheme: ColorScheme, width: int, height: int
) -> None:
    run = site.reader.run("r1")
    assert run is not None
    path = tmp_path / "told.html"
    path.write_text(page_of(records_of(site.reader, run)), encoding="utf-8")
    size = ViewportSize(width=width, height=height)
    context = browser.new_context(offline=True, viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".card", has_text="Output")).to_be_visible()
    assert page.evaluate(_TROUBLES) == []
    expect(page.locator("#slider")).to_be_in_viewport()
    assert violations(page) == []
    context.close()


def test_a_plan_that_is_no_chain_is_laid_out_in_the_file(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    run = JoinsRun(tmp_path / "joins.db", "j").ticks(4)
    path = tmp_path / "told.html"
    found = run.reader.run("j")
    assert found is not None
    path.write_text(page_of(records_of(run.reader, found)), encoding="utf-8")
    run.close()
    context = browser.new_context(offline=True, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".card", has_text="a and b and c")).to_be_visible()
    assert page.evaluate(_TROUBLES) == []
    assert page.locator(".card.state").count() > 4
    sources = page.locator(".card", has_text="source").all()
    joined = page.locator(".card", has_text="a and b and c").bounding_box()
    for one in sources:
        box = one.bounding_box()
        assert box is not None
        assert joined is not None
        assert box["x"] + box["width"] <= joined["x"], "from left to right"
    context.close()


def test_the_records_can_be_taken_along(open_page: OpenPage) -> None:
    page = open_page("/postmortem?run=r1")
    with page.expect_download() as found:
        page.get_by_role("link", name="Save the records").click()
    assert gzip.decompress(found.value.path().read_bytes()).startswith(b"SQLite format 3")
