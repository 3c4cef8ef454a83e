"""The Decisions page: list, filters, card, keyboard, and its place in the URL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.unit.asc.stream import tuples
from tests.web.conftest import OpenPage
from tests.web.engine_run import SelectionRun
from tests.web.site import Site

pytestmark = pytest.mark.web


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_a_switch_is_shown_with_all_its_numbers(
    open_page: OpenPage, site: Site, scheme: str, width: int, height: int
) -> None:
    plan = site.reader.plan_at("r1", 110)
    assert plan is not None
    page = open_page(
        f"/decisions?run=r1&node={plan.decision}",
        scheme=scheme,
        width=width,
        height=height,
    )
    card = page.locator(f"[data-decision='{plan.decision}']")
    expect(card).to_contain_text("0.310 > 0.100, so ≥ holds")
    expect(card.locator(".pw-test-bar")).to_have_attribute(
        "aria-label", "change of visits per tuple: 0.310 > 0.100, so ≥ holds"
    )
    expect(card).to_contain_text("saved 850 visits per 1 000 tuples (estimated on 240 sampled")
    orders = card.locator(".pw-order")
    expect(orders).to_have_count(2)
    after = orders.nth(1).locator("li > span:first-child").all_inner_texts()
    assert [f"asc:{name}" for name in after] == list(plan.order)
    expect(card.get_by_role("link", name=f"plan {plan.version}")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_nothing_is_cut(open_page: OpenPage, width: int, height: int) -> None:
    page = open_page("/decisions?run=r1&at=110", width=width, height=height)
    expect(page.locator(".pw-decision-row").first).to_be_visible()
    cut = """[...document.querySelectorAll(".pw-main *")]
        .filter((one) => getComputedStyle(one).textOverflow === "ellipsis")
        .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"""
    assert page.evaluate(cut) == []
    wrapped = "getComputedStyle(document.querySelector('.pw-decision-below > *')).whiteSpace"
    assert page.evaluate(wrapped) == "normal"


def test_the_list_counts_and_filters(open_page: OpenPage, site: Site) -> None:
    counts = site.reader.decision_counts("r1")
    page = open_page("/decisions?run=r1")
    rows = page.locator(".pw-decision-row")
    expect(rows).to_have_count(counts.stored)
    words = page.locator(".pw-decisions-count")
    expect(words).to_contain_text(f"{counts.stored}, newest first")
    page.get_by_text("▲ Switched").click()
    expect(rows).to_have_count(4)
    assert set(rows.evaluate_all("all => all.map(r => r.dataset.verdict)")) == {"switched"}
    expect(page).to_have_url(re.compile("show=switched"))
    page.reload()
    expect(rows).to_have_count(4)
    page.get_by_text("All", exact=True).click()
    expect(rows).to_have_count(counts.stored)
    expect(page).not_to_have_url(re.compile("show="))


def test_arrows_walk_the_list_and_the_url_keeps_the_choice(open_page: OpenPage) -> None:
    page = open_page("/decisions?run=r1")
    rows = page.locator(".pw-decision-row")
    expect(rows.first).to_have_attribute("aria-current", "true")
    second = rows.nth(1).get_attribute("data-seq")
    page.keyboard.press("ArrowDown")
    expect(page.locator(f"[data-decision='{second}']")).to_be_visible()
    expect(page).to_have_url(re.compile(f"node={second}"))
    page.keyboard.press("ArrowUp")
    expect(rows.first).to_have_attribute("aria-current", "true")


def test_a_link_with_decision_works_and_the_plan_of_the_moment_is_the_default(
    open_page: OpenPage, site: Site
) -> None:
    plan = site.reader.plan_at("r1", 62)
    assert plan is not None
    page = open_page("/decisions?run=r1&at=62")
    expect(page.locator(f"[data-decision='{plan.decision}']")).to_be_visible()
    page = open_page("/decisions?run=r1&decision=2")
    expect(page.locator("[data-decision='2']")).to_be_visible()


def test_a_decision_that_was_not_stored_says_so(open_page: OpenPage) -> None:
    page = open_page("/decisions?run=r1&node=99999")
    expect(page.locator("#pw-decision-body")).to_contain_text("is not stored")


def test_who_decided_is_told_in_words_and_by_its_name_on_focus(open_page: OpenPage) -> None:
    page = open_page("/decisions?run=r1&node=2")
    head = page.locator("[data-decision='2'] .pw-dcard-head")
    expect(head).to_contain_text("Attribute selection constructs, macro sequence")
    expect(head).not_to_contain_text("asc.macro_sequence")
    head.locator(".pw-term").focus()
    expect(page.locator("#pw-term-tip")).to_contain_text("asc.macro_sequence")


def test_panels_come_with_their_first_records(open_page: OpenPage, site: Site) -> None:
    late = SelectionRun(Path(site.path), "late").run(tuples(20, 3))
    page = open_page("/decisions?run=late")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    expect(page.locator("#pw-page")).to_contain_text("Nothing is recorded yet")
    late.drift()
    expect(page.locator("#pw-decision-body")).to_be_visible()
    late.close()
