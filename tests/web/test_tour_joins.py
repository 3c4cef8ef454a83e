"""The tour of a run with a pool of memory, and the stage it is shown on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until, until_asked
from tests.web.joins_run import UNIT, JoinsRun
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "toured"
TITLES = (
    "The plan is a map",
    "The stream changes, the plan follows",
    "Why the plan changed",
    "What memory is worth",
    "Do harm: a burst",
    "Do harm: silence a stream",
    "The story writes itself",
)


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> Iterator[JoinsRun]:
    """The running run, whose caches bid."""
    made = JoinsRun(Path(site.path), RUN).ticks(12)
    yield made
    made.close()


def at_stop(page: Page, number: int) -> None:
    expect(page.locator("#pw-tour-place")).to_contain_text(f"{number} of {len(TITLES)}")
    expect(page.locator("#pw-tour-title")).to_have_text(TITLES[number - 1])


def test_the_tour_has_what_the_run_has(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={RUN}&tour=1")
    for number in range(1, len(TITLES) + 1):
        at_stop(page, number)
        expect(page.locator(".pw-tour-frame")).to_be_visible()
        page.keyboard.press("PageDown")
    expect(page.locator("#pw-tour")).to_have_count(0)


def test_memory_is_taken_away_and_given_back(open_page: OpenPage, run: JoinsRun) -> None:
    page = open_page(f"/memory?run={RUN}&tour=4")
    at_stop(page, 4)
    page.get_by_role("button", name="Leave a quarter of the memory").click()
    until_asked(page, run.reader, RUN, 1)
    run.ticks()
    expect(page.locator("#pw-tour-said")).to_contain_text(
        "65536 → 16384: applied at batch 12, 65536 again after 30 s"
    )
    (asked,) = run.reader.commands(RUN)
    assert asked.payload["knob"] == "pool_bytes"
    assert asked.payload["scope"] == UNIT
    assert asked.payload["unless_kept_s"] == 30


def test_a_knob_that_is_fixed_is_locked_with_the_command(open_page: OpenPage) -> None:
    page = open_page(f"/knobs?run={RUN}&unit={UNIT}")
    card = page.locator("#pw-page [data-knob='shards']").first
    expect(card).to_contain_text("Fixed for a run. For another value start a new one:")
    expect(card.locator("code")).to_contain_text("--set shards=2")
    expect(card.get_by_label("shards", exact=True)).to_be_disabled()


def test_a_turn_has_a_name_and_can_be_undone(open_page: OpenPage, run: JoinsRun) -> None:
    page = open_page(f"/knobs?run={RUN}&unit={UNIT}")
    before = len(run.reader.commands(RUN))
    page.locator("details:has([data-knob='candidates']) > summary").first.click()
    card = page.locator("#pw-page [data-knob='candidates']").first
    card.get_by_label("candidates", exact=True).fill("5")
    card.get_by_label("Your name, for the audit log").fill("Ann")
    card.get_by_role("button", name="Apply 5").click()
    until_asked(page, run.reader, RUN, before + 1)
    run.ticks()
    page.get_by_role("button", name="undo").click()
    until_asked(page, run.reader, RUN, before + 2)
    run.ticks()
    turned, undone = sorted(run.reader.commands(RUN), key=lambda asked: asked.id or 0)[-2:]
    assert turned.actor == undone.actor == "Ann (page 127.0.0.1)"
    assert (turned.payload["value"], undone.payload["value"]) == (5, 6)
    assert undone.reason == "undo"


def test_the_stage_has_large_type_and_no_chrome(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={RUN}")
    expect(page.locator(".pw-nav")).to_be_visible()
    size = "parseFloat(getComputedStyle(document.querySelector('.pw-gain')).fontSize)"
    small = page.evaluate(size)
    page.keyboard.press("s")
    until(page, "location.search.includes('stage=1')")
    for gone in (".pw-nav", ".pw-strip-controls", "#pw-help-open", ".pw-panel-actions"):
        expect(page.locator(gone).first).to_be_hidden()
    until(page, f"{size} > {1.4 * small}")
    until(page, "document.documentElement.scrollWidth <= window.innerWidth")
    page.reload()
    expect(page.locator(".pw-gain")).to_be_visible()
    expect(page.locator(".pw-nav")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator(".pw-nav")).to_be_visible()
    until(page, "!location.search.includes('stage')")


def test_a_map_of_few_lanes_has_their_height_until_it_is_zoomed(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={RUN}", height=900)
    frame = page.locator(".pw-graph-frame")
    expect(frame).to_have_attribute("data-level", "chip")
    high = frame.evaluate("(node) => node.clientHeight")
    inside = page.eval_on_selector_all(
        ".pw-graph-frame .pw-card-box",
        "all => Math.max(...all.map(b => b.getBoundingClientRect().bottom))"
        " - Math.min(...all.map(b => b.getBoundingClientRect().top))",
    )
    assert inside <= high <= inside + 40
    frame.focus()
    page.keyboard.press("+")
    until(page, "document.querySelector('.pw-graph-frame').clientHeight >= 260")
    page.keyboard.press("f")
    until(page, f"document.querySelector('.pw-graph-frame').clientHeight === {high}")
