"""The Results page: matches, tuples, misfits, and requests about queries."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage
from tests.web.recorded_parts import QUERIES
from tests.web.site import RUNNING, Site

pytestmark = pytest.mark.web


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_queries_with_matches_tuples_and_misfits(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = open_page("/results?run=r1", scheme=scheme, width=width, height=height)
    rows = page.locator("tr[data-query]")
    expect(rows).to_have_count(len(QUERIES))
    totals = [
        int(t.replace("\u2009", "")) for t in rows.locator("td:nth-child(3)").all_inner_texts()
    ]
    assert totals == sorted(totals, reverse=True)
    expect(page.locator(".pw-tuples tbody tr").first).to_be_visible()
    expect(page.locator("#pw-misfits")).to_contain_text("dep_delay: not an int")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_query_is_chosen_by_keyboard_and_kept_in_the_url(open_page: OpenPage) -> None:
    page = open_page("/results?run=r1")
    page.locator("tr[data-query=fog]").get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("node=query%3Afog"))
    expect(page.locator("#pw-query-body")).to_contain_text(QUERIES["fog"])
    expect(page.locator("tr[data-query=fog]")).to_have_attribute("aria-current", "true")


def test_a_run_that_is_over_cannot_be_changed_and_says_why(open_page: OpenPage) -> None:
    page = open_page("/results?run=r1")
    expect(page.get_by_role("button", name="Register query")).to_be_disabled()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_disabled()
    expect(page.locator("#pw-query-said")).to_contain_text("has ended")


def test_registering_a_query_is_a_request_that_the_engine_answers(
    open_page: OpenPage, site: Site
) -> None:
    page = open_page("/results")
    button = page.get_by_role("button", name="Register query")
    expect(button).to_be_enabled()
    page.get_by_role("textbox", name="Name").fill("mine")
    page.get_by_role("textbox", name="CQL").fill("Select * From Flights Where dep_delay > 5")
    button.click()
    requests = page.locator(".pw-requests")
    expect(requests).to_contain_text("requested register mine", timeout=15_000)
    expect(page.get_by_role("textbox", name="CQL")).to_have_value("")
    command = site.reader.commands(RUNNING)[0]
    assert (command.kind, command.payload["name"]) == ("query_add", "mine")
    assert command.actor.startswith("page")
    site.feed()
    expect(requests).to_contain_text("refused register mine", timeout=15_000)
    expect(requests).to_contain_text("this recording knows knobs only")


def test_pausing_shows_the_pending_request(open_page: OpenPage, site: Site) -> None:
    page = open_page("/results?node=query:fog")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("tr[data-query=fog]")).to_contain_text("pause pending", timeout=15_000)
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_disabled()
    site.feed()
    expect(page.locator("tr[data-query=fog]")).not_to_contain_text("pending", timeout=15_000)
    expect(page.locator(".pw-requests")).to_contain_text("refused pause fog")


def test_removing_asks_first(open_page: OpenPage, site: Site) -> None:
    page = open_page("/results?node=query:july_ua")
    before = site.reader.commands(RUNNING)
    remove = page.get_by_role("button", name="Remove", exact=True)
    remove.click()
    question = page.get_by_role("dialog", name="Remove july_ua")
    expect(question).to_contain_text("Remove the query july_ua?")
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    remove.click()
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_be_hidden()
    assert site.reader.commands(RUNNING) == before
    remove.click()
    question.get_by_role("button", name="Remove july_ua").click()
    expect(page.locator("tr[data-query=july_ua]")).to_contain_text("remove pending")
    assert site.reader.commands(RUNNING)[0].kind == "query_remove"
    site.feed()


def test_pausing_can_be_taken_back(open_page: OpenPage, site: Site) -> None:
    page = open_page("/results?node=query:big_late")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.locator(".pw-toast").get_by_role("button", name="undo").click()
    expect(page.locator("#pw-query-said")).to_contain_text("Resume big_late: requested")
    kinds = [command.kind for command in site.reader.commands(RUNNING)[:2]]
    assert kinds == ["query_resume", "query_pause"]
    site.feed()


def test_a_query_without_a_name_is_refused_at_once_with_a_sentence(
    open_page: OpenPage, site: Site
) -> None:
    before = site.reader.commands(RUNNING)
    page = open_page("/results")
    expect(page.get_by_role("button", name="Register query")).to_be_enabled()
    page.get_by_role("textbox", name="Name").fill("  ")
    page.get_by_role("textbox", name="CQL").fill("Select * From Flights")
    page.get_by_role("button", name="Register query").click()
    expect(page.locator("#pw-query-said")).to_contain_text("Give the query a name")
    assert site.reader.commands(RUNNING) == before


def test_new_batches_keep_the_focus_and_the_scroll_place(open_page: OpenPage, site: Site) -> None:
    page = open_page("/results")
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")
    cell = page.locator("tr[data-query=late_jfk] td:nth-child(3)")
    page.locator("tr[data-query=fog]").get_by_role("link").focus()
    before = cell.inner_text()
    with site.feeding():
        expect(cell).not_to_have_text(before, timeout=15_000)
    focused = "document.activeElement.closest('tr').dataset.query"
    assert page.evaluate(focused) == "fog"
