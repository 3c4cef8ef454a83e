"""The Matrix page of pipelined filters, and the other pages on a run a filter of which throws and
another is removed. The run is recorded by the real engine loop."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from backend.model.ids import profile_id
from tests.web.axe import violations
from tests.web.conftest import OpenPage, until
from tests.web.recorded_filters import (
    END,
    QUERY,
    SWAPS,
    SWEEP,
    UNIT,
    FilterRecording,
    filter_id,
    record_filters,
)
from tests.web.site import Site, serve

pytestmark = pytest.mark.web
RUN = "filters"
LIVE = "filters-live"
ORDER = "document.querySelector('.pw-ribbon').dataset.order"
SLOW_S = 40.0  # plotly is large, and test machines are busy


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Instead of the common one: with the recorded run of filters."""
    with serve(tmp_path_factory.mktemp("filters"), empty=True) as served:
        record_filters(served.path, RUN)
        yield served


def a_switch(site: Site) -> int:
    """The batch of the last switch before the algorithm is turned."""
    return site.reader.decisions(RUN, until=SWEEP - 1, verdicts=("switched",))[0].decision.batch


def requested(site: Site) -> None:
    """Wait until a request of the page has reached the store."""
    deadline = time.monotonic() + SLOW_S
    while not site.reader.commands(LIVE):
        assert time.monotonic() < deadline, "no request came"
        time.sleep(0.05)  # sleeps: asked again


def _node(name: str) -> str:
    """The card of a filter."""
    return f"[data-id='{filter_id(name)}']"


def drawn(page: Page) -> Page:
    until(page, "document.querySelectorAll('.pw-v [data-cell]').length > 0", SLOW_S)
    return page


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_a_violated_view_is_drawn_with_the_move_it_implies(
    open_page: OpenPage, site: Site, scheme: str, width: int, height: int
) -> None:
    batch = a_switch(site)
    stored = site.reader.matrix(RUN, f"view_drop_prob:{QUERY}", batch)
    (entry,) = site.reader.decisions(RUN, until=batch, limit=1)
    pair = entry.decision.detail["pair"]
    assert stored is not None
    page = drawn(open_page(f"/matrix?run={RUN}&at={batch}", scheme, width, height))
    assert page.evaluate(ORDER).split() == list(stored.matrix.rows)
    place, challenger = pair["position"], pair["challenger_position"]
    cell = page.locator(f"[data-cell='{place},{challenger}']")
    expect(cell).to_have_attribute("data-violated", "1")
    expect(cell).to_contain_text(f"▲ {stored.matrix.values[place - 1][challenger - 1]:.2f}")
    expect(cell.locator(".pw-v-violated")).to_have_attribute("fill", "url(#pw-v-hatch)")
    expect(page.locator(".pw-v-diagonal")).to_have_count(len(stored.matrix.rows))
    expect(page.locator(f"[data-move='{challenger},{place}'] title")).to_have_text(
        f"{pair['challenger']} overtakes {pair['filter']}"
    )
    expect(page.locator("#pw-check")).to_contain_text(": violated")
    expect(page.locator("#pw-check")).to_contain_text("switched")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


def test_a_name_that_is_cut_in_the_ribbon_is_read_on_hover_and_focus(
    open_page: OpenPage, site: Site
) -> None:
    page = drawn(open_page(f"/matrix?run={RUN}&at={a_switch(site)}"))
    tip = page.locator("#pw-term-tip code")
    cards = page.locator(".pw-ribbon-card")
    first, second = cards.first, cards.nth(1)
    first.locator(".pw-ribbon-name").focus()
    expect(tip).to_have_text(first.get_attribute("data-filter") or "")
    second.locator(".pw-ribbon-name").hover()
    expect(tip).to_have_text(second.get_attribute("data-filter") or "")


def test_cells_by_keyboard_other_numbers_and_the_table(open_page: OpenPage, site: Site) -> None:
    batch = a_switch(site)
    stored = site.reader.matrix(RUN, f"view:{QUERY}", batch)
    assert stored is not None
    page = drawn(open_page(f"/matrix?run={RUN}&at={batch}"))
    page.locator(".pw-v-scroll").focus()
    page.keyboard.press("ArrowRight")
    said = page.locator(".pw-v [aria-live]")
    expect(said).to_contain_text("Row 1, column 2")
    expect(said).to_contain_text("profile tuples; drop probability")
    expect(said).to_contain_text("sampled in batches")
    page.get_by_text("Counts", exact=True).click()
    count = int(stored.matrix.values[0][1])
    expect(page.locator("[data-cell='1,2'] text")).to_have_text(str(count))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Table").first.click()
    row = page.locator("#pw-view-table tbody tr").first
    expect(row).to_be_visible()
    assert [int(text) for text in row.locator("td").all_inner_texts()] == [
        int(stored.matrix.row_stats["reached"][0]),
        *(int(count) for count in stored.matrix.values[0]),
    ]


def test_the_view_follows_the_moment_and_greys_what_is_not_kept(
    open_page: OpenPage, site: Site
) -> None:
    batch = a_switch(site)
    page = drawn(open_page(f"/matrix?run={RUN}&at={batch}"))
    before = page.evaluate(ORDER)
    page.evaluate(f"planwatch.go({{at: {batch + 1}}})")
    until(page, f"{ORDER} !== {before!r}")
    scrub = page.get_by_role("slider", name=re.compile("^batch"))
    scrub.focus()
    scrub.fill(str(SWAPS + 2))
    expect(page).to_have_url(re.compile(f"at={SWAPS + 2}"))
    expect(page.locator("[data-cell='2,4']")).to_have_attribute("data-kind", "off")
    expect(page.locator("[data-cell='2,3']")).to_have_attribute("data-kind", "on")


def test_the_race_and_the_overhead(open_page: OpenPage) -> None:
    page = drawn(open_page(f"/matrix?run={RUN}&at={SWEEP - 1}"))
    plot = "document.querySelector('#pw-race-graph .js-plotly-plot')"
    until(page, f"!!({plot} && {plot}.data && {plot}.data.length === 12)", SLOW_S)
    expect(page.locator("#pw-race-foot tbody tr")).to_have_count(6)
    expect(page.locator("#pw-race-foot")).to_contain_text("in force")
    expect(page.locator("#pw-overhead-bar [data-share]")).to_have_count(5)
    expect(page.locator(".pw-overhead")).to_contain_text("break-even p")


def test_a_filter_that_throws_and_one_that_was_removed(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={RUN}&at={END - 8}&node={filter_id('table')}")
    expect(page.locator(_node("slow"))).to_be_visible()
    expect(page.locator(_node("table"))).to_contain_text("dropped")
    raised = page.locator("#plan-inspector tr", has_text="Exceptions so far")
    assert int(raised.locator("td").first.inner_text()) > 0
    page.evaluate(f"planwatch.go({{at: {END - 1}, node: null}})")
    expect(page.locator(_node("slow"))).to_have_count(0)
    expect(page.locator(_node("known"))).to_be_visible()
    page.goto(page.url.replace("/plan", "/results"))
    expect(page.get_by_text("table: ValueError: no such network").first).to_be_visible()


def test_p_is_turned_beside_the_meter(open_page: OpenPage, site: Site) -> None:
    live = FilterRecording(site.path, LIVE)
    for _ in range(4):
        live.write()
    page = drawn(open_page(f"/matrix?run={LIVE}"))
    card = page.locator(".pw-overhead [data-knob='profile_prob']")
    card.get_by_label("profile_prob", exact=True).fill("0.2")
    card.get_by_role("button", name="Apply 0.2").click()
    expect(card.locator("[data-phase='pending']")).to_be_visible()
    requested(site)
    live.write()
    expect(card.locator("[data-phase='applied']")).to_contain_text("applied at batch 4")
    live.write()
    expect(page.locator(f"[data-live='{profile_id(UNIT)}|profile_prob_used']")).to_have_text(
        "0.200"
    )
    live.close()
