"""What eddies show: bits by attribute and partition, what is asked, routes, what tuning came to."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from storage.vocabulary.amri import AS_IN_THE_PAPER
from tests.web.axe import violations
from tests.web.conftest import OpenPage, asking, until
from tests.web.recorded_amri import MOVED, N_PARTITIONS, RUN, AmriRecording, record_amri
from tests.web.site import Site, serve

pytestmark = pytest.mark.web
PAGE = f"/index-bits?run={RUN}"
N_BATCHES = 12
VIEWS = [("dark", 1440, 900), ("light", 390, 844)]
#: Colours of the cells in force of S, then of each partition, top down.
CELLS = """[...document.querySelectorAll('[data-state="s:S"] [role=img]')]
.map((strip) => [...strip.children]
.map((one) => (one.className.match(/cell-\\d/) || ["free"])[0]))"""
#: All that is drawn and written on the page, but for what depends on the moment.
SHOWN = """["bit-budget", "bit-regret", "routes"].map((name) =>
document.querySelector(`#pw-${name}-body`).innerText)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store with the run alone."""
    with serve(tmp_path_factory.mktemp("amri"), empty=True) as served:
        yield served


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> AmriRecording:
    """The running run."""
    return record_amri(site.writer, N_BATCHES)


def strips(page: Page) -> list[list[str]]:
    """The cells in force of S and those of its partitions, once they are there."""
    until(page, "document.querySelectorAll('.pw-bits section').length === 3")
    found: list[list[str]] = page.evaluate(CELLS)
    return found


def cells(a: int, b: int, free: int = 0) -> list[str]:
    return ["cell-0"] * a + ["cell-1"] * b + ["free"] * free


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_the_page_is_drawn_and_axe_finds_nothing(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = open_page(f"{PAGE}&at={MOVED + 1}", scheme=scheme, width=width, height=height)
    assert strips(page) == [cells(2, 5, free=1), *[cells(5, 2)] * 3, cells(2, 5)]
    expect(page.locator('[data-state="s:S"]')).to_contain_text("3 of 4 partitions still to migrate")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


def test_the_page_is_in_the_menu_of_runs_that_have_such_indexes(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={RUN}")
    page.locator('.pw-nav-link[data-pw-path="/index-bits"]').click()
    expect(page.locator(".pw-bits section")).to_have_count(3)


def test_partitions_that_migrate_are_marked_until_they_have(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED - 1}")
    assert strips(page) == [cells(5, 2, free=1), *[cells(5, 2)] * N_PARTITIONS]
    expect(page.locator('[data-migrating="1"]')).to_have_count(0)
    marked = open_page(f"{PAGE}&at={MOVED + 2}").locator('[data-migrating="1"]')
    expect(marked).to_have_count(2)
    expect(marked.first.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(r"^Partition 8: a 5, b 2; 1.000 tuples, still to migrate$")
    )


def test_what_is_asked_stands_beside_the_bits(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED}")
    rows = page.locator('[data-state="s:S"] tbody tr')
    expect(rows).to_have_text([re.compile(one) for one in (r"<a,\*>", r"<\*,b>", "<a,b>")])
    expect(rows.nth(1)).to_contain_text("90.50")
    expect(rows.nth(2).get_by_title("not reported")).to_have_text("—")
    expect(page.locator('[data-state="s:T"]')).to_contain_text("Nothing was asked of this state")


def test_the_table_has_the_bits_of_each_partition(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED + 2}")
    strips(page)
    page.locator("#pw-bit-budget .pw-twin-switch").click()
    rows = page.locator("#pw-bit-budget .pw-twin-table tbody tr")
    expect(rows).to_have_count(3 * N_PARTITIONS)
    expect(rows.first).to_contain_text("a 5, b 2")
    expect(rows.first).to_contain_text("still to migrate")


def test_routes_have_their_price_and_the_one_in_force_is_marked(open_page: OpenPage) -> None:
    forced = '#pw-routes tr[data-origin="S"]:has(.pw-badge)'
    page = open_page(f"{PAGE}&at={MOVED - 1}")
    expect(page.locator(forced)).to_contain_text("T → U")
    page = open_page(f"{PAGE}&at={MOVED}")
    expect(page.locator(forced)).to_contain_text("U → T")
    expect(page.locator('#pw-routes tr[data-origin="S"]').nth(1)).to_contain_text("2.00")


def test_what_tuning_came_to_is_said_and_drawn(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED}")
    told = page.locator("#pw-bit-regret")
    expect(told).to_contain_text("cost 25.0\u2009% more than the best bits that never change")
    expect(told).to_contain_text("100\u2009% more than the best sequence of bits")
    expect(told.locator(".pw-regret-bar")).to_have_count(9)
    told.locator(".pw-twin-switch").click()
    expect(told.locator("tbody tr").last).to_contain_text("42.0k")


def test_a_replay_shows_the_page_as_it_was(
    open_page: OpenPage, site: Site, run: AmriRecording
) -> None:
    run.write()
    at = run.next_batch - 1
    page = open_page(PAGE)
    strips(page)
    live = page.evaluate(SHOWN)
    run.write()
    page = open_page(f"{PAGE}&at={at}")
    strips(page)
    assert page.evaluate(SHOWN) == live
    page = open_page(f"{PAGE}&at={at + 1}")
    strips(page)
    assert page.evaluate(SHOWN) != live


def test_the_card_of_a_state_has_its_bits(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={RUN}&at={MOVED}")
    card = page.locator('.pw-card[data-id="s:S"]')
    expect(card.locator(".pw-card-cells .pw-cell-0")).to_have_count(2)
    expect(card.locator(".pw-card-cells .pw-cell-1")).to_have_count(5)
    expect(card).to_have_attribute("aria-label", re.compile(r"^S, state: +a 2, b 5$"))


def test_bits_over_time_are_stacked_by_attribute(open_page: OpenPage) -> None:
    page = open_page(f"/timeline?run={RUN}")
    graph = "document.querySelector('#pw-bit-lanes-graph .js-plotly-plot')"
    until(page, f"{graph} && {graph}.data && {graph}.data.length === 2")
    assert page.evaluate(f"{graph}.data.map((t) => [...t.y])") == [[5, 2, 2], [2, 5, 5]]
    page.locator("#pw-bit-lanes .pw-twin-switch").click()
    row = page.locator("#pw-bit-lanes .pw-twin-table tbody tr")
    expect(row).to_contain_text("S takes the bits a 2, b 5 instead of a 5, b 2")


def test_the_knobs_of_the_paper_are_turned_at_one_click(open_page: OpenPage, site: Site) -> None:
    """One after the other, as the preset has them: θ goes before ε, which has to be below it."""
    page = open_page(f"/knobs?run={RUN}")
    row = page.locator("#pw-presets tbody tr", has_text="As in the paper of AMRI")
    expect(row).to_contain_text(re.compile(r"Index bits B 8.* → 64"))
    now = {knob.name: knob.value for knob in site.reader.knobs(RUN)}
    others = [name for name, value in AS_IN_THE_PAPER.items() if now[name] != value]
    with asking(page, site.reader, RUN, len(others)):
        row.get_by_role("button", name=f"Take ({len(others)} turns)").click()
    asked = [command.payload for command in site.reader.commands(RUN)[len(others) - 1 :: -1]]
    assert [turn["knob"] for turn in asked] == others
    assert all(turn["value"] == AS_IN_THE_PAPER[str(turn["knob"])] for turn in asked)
