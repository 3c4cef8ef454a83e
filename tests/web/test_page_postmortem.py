"""The Post-mortem page: the story, notes, and the file that opens without a server."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.web.conftest import OpenPage, until
from tests.web.test_accessibility import axe_source

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
    expect(alone.locator("#lines svg")).to_have_count(4)
    alone.evaluate(axe_source())
    report = alone.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], one["nodes"][0]["html"]) for one in report["violations"]] == []
    assert troubles == []
    assert [url for url in asked if not url.startswith("file:")] == []
    context.close()


def test_the_records_can_be_taken_along(open_page: OpenPage) -> None:
    page = open_page("/postmortem?run=r1")
    with page.expect_download() as found:
        page.get_by_role("link", name="Save the records").click()
    assert gzip.decompress(found.value.path().read_bytes()).startswith(b"SQLite format 3")
