"""What eddies show: bits by attribute and partition, what is asked, routes, what tuning came to."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from storage.vocabulary.amri import AS_IN_THE_PAPER
from tests.web.axe import violations
from tests.web.conftest import Ask, OpenPage, asking, until
from tests.web.recorded_amri import MOVED, N_PARTITIONS, RUN, AmriRecording, record_amri
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
PAGE = f"/index-bits?run={RUN}"
N_BATCHES = 12
VIEWS = [("dark", 1440, 900), ("light", 390, 844)]
#: Colours of the cells in force of S, then of each partition, top down.
CELLS = """[...document.querySelector('[data-state="s:S"]')
.querySelectorAll(".pw-bits-strip, [role=img]")]
.map((strip) => [...strip.children]
.map((one) => (one.className.match(/cell-\\d/) || ["free"])[0]))"""
#: All that is drawn and written on the page, but for what depends on the moment.
SHOWN = """["bit-budget", "index-whatif", "bit-regret", "routes"].map((name) =>
document.querySelector(`#pw-${name}-body`).innerText)"""
PLOT = "document.querySelector('#pw-{}-graph .js-plotly-plot')"


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
    rows = page.locator('[data-state="s:S"] table').first.locator("tbody tr")
    expect(rows).to_have_text([re.compile(one) for one in (r"<a,\*>", r"<\*,b>", "<a,b>")])
    expect(rows.nth(1)).to_contain_text("90.50")
    expect(rows.nth(1)).to_contain_text("40.50")
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
    expect(page.locator(forced)).to_contain_text("4.25")


def test_what_tuning_came_to_is_said_and_drawn(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED}")
    told = page.locator("#pw-bit-regret")
    expect(told).to_contain_text("cost 25.0\u2009% more than the best bits that never change")
    expect(told).to_contain_text("100\u2009% more than the best sequence of bits")
    expect(told.locator(".pw-regret-bar")).to_have_count(9)
    told.locator(".pw-twin-switch").click()
    expect(told.locator("tbody tr").last).to_contain_text("42.0k")


def test_a_bit_that_is_moved_by_keys_is_priced_and_pinned(
    open_page: OpenPage, site: Site, run: AmriRecording
) -> None:
    page = open_page(PAGE)
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    own = page.locator('[data-state="s:S"] .pw-bits-own')
    own.get_by_role("button", name="Bit 3 of S: b; arrow keys move it").focus()
    page.keyboard.press("ArrowLeft")
    expect(own).to_have_attribute("data-bits", "3 4")
    told = own.locator(".pw-bits-draft")
    expect(told).to_contain_text("a 3, b 4: a request would have cost")
    expect(page.locator(".pw-tried-words")).to_contain_text("With bits a 3, b 4, a request would")
    expect(page).to_have_url(re.compile(r"show=S%40bits(\+|%20)3"))
    assert site.reader.commands(RUN) == ()  # trying asks for nothing
    with asking(page, site.reader, RUN):
        told.get_by_role("button", name="Pin").click()
    run.write(site.writer.pending_commands(RUN))
    expect(told.locator(".pw-chip")).to_contain_text("applied at batch")
    (pin,) = [one for one in site.reader.knobs(RUN) if one.name == "pinned_bits"]
    assert pin.value == "S: 3 4"


def test_a_bit_is_dragged_to_another_attribute_and_let_go(open_page: OpenPage, site: Site) -> None:
    page = open_page(PAGE)
    n_asked = len(site.reader.commands(RUN))
    own = page.locator('[data-state="s:S"] .pw-bits-own')
    cells = own.locator(".pw-bits-strip button")
    expect(cells).to_have_count(8)
    begin, end = cells.nth(6).bounding_box(), cells.nth(0).bounding_box()
    assert begin is not None
    assert end is not None
    page.mouse.move(begin["x"] + 5, begin["y"] + 8)
    page.mouse.down()
    page.mouse.move(end["x"] + 5, end["y"] + 8, steps=4)
    page.mouse.up()
    expect(own).to_have_attribute("data-bits", "3 4")
    expect(own.locator(".pw-bits-legend")).to_contain_text("a 3 bits (+1)")
    own.get_by_role("button", name="Discard").click()
    expect(own).to_have_attribute("data-bits", "2 5")
    expect(own.locator(".pw-bits-draft")).to_have_count(0)
    assert len(site.reader.commands(RUN)) == n_asked


def test_pins_of_other_states_stay_and_a_bit_moves_once(ask: Ask) -> None:
    pinned = "m.pinned(value, state, bits)"
    told = ask("bit_pins", pinned, value="S: 1 2; T:3 4", state="S", bits=[0, 5])
    assert told == "T:3 4; S: 0 5"
    assert ask("bit_pins", pinned, value="", state="S in q", bits=[3]) == "S in q: 3"
    moved = "m.moved(bits, from, to)"
    for way, bits in (((0, 1), [1, 1]), ((0, -1), [1, 0]), ((-1, 1), [2, 1]), ((1, 0), [2, 0])):
        given = dict(zip(("from", "to"), way, strict=True))
        assert ask("bit_pins", moved, bits=[2, 0], **given) == bits


def test_what_bits_earn_stands_beside_them(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED + 2}")
    earned = page.locator('[data-state="s:S"] table').nth(1)
    expect(earned.locator("tbody tr").first).to_contain_text("75.0\u2009%")
    expect(earned.locator("tbody tr").first).to_contain_text("missing")


def test_another_index_stands_beside_the_record(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"{PAGE}&at=10&show=S@bits+3+4@3-9")
    bars = page.locator(".pw-tried li")
    expect(bars).to_have_count(7)
    n_asked = len(site.reader.commands(RUN))
    cost = "Number(document.querySelector('.pw-tried [data-index={}]').dataset.cost)"
    until(page, "document.querySelector('.pw-tried [data-index=tried]') !== null")
    tried, spent, fixed = (page.evaluate(cost.format(n)) for n in ("tried", "spent", "fixed"))
    assert fixed <= tried
    share = f"{100 * (tried / spent - 1):.1f}\u2009% more"
    expect(page.locator(".pw-tried-words")).to_contain_text(share)
    page.get_by_label("Bits tried for b up", exact=True).click()
    expect(page.locator(".pw-tried-words")).to_contain_text("With bits a 3, b 5")
    assert page.evaluate(cost.format("tried")) < tried
    assert page.evaluate(cost.format("spent")) == spent
    page.get_by_label("Index tried", exact=True).select_option("scan")
    expect(page.locator(".pw-tried-words")).to_contain_text("With a scan")
    expect(page).to_have_url(re.compile("show=S%40scan%403-9"))
    scan = page.evaluate(cost.format("tried"))
    page.get_by_label("Index tried", exact=True).select_option("portfolio")
    expect(page.locator(".pw-tried-words")).to_contain_text("With the best mix: ")
    assert page.evaluate(cost.format("tried")) < scan
    page.get_by_label("KiB of the portfolio tried", exact=True).fill("63")
    page.get_by_label("KiB of the portfolio tried", exact=True).press("Enter")
    expect(page.locator(".pw-tried-words")).to_contain_text("With the best mix within 63 KiB: bits")
    page.get_by_label("Index tried", exact=True).select_option("retuned")
    expect(page.locator(".pw-tried-words")).to_contain_text("With bits chosen anew every 60")
    expect(page).to_have_url(re.compile("show=S%40retuned"))
    graph = PLOT.format("index-whatif")
    until(page, f"{graph} && {graph}.data && {graph}.data[0].x.length === 7")
    expect(page.get_by_role("button", name="Take it live")).to_be_disabled()
    page.locator("#pw-index-whatif .pw-twin-switch").click()
    expect(page.locator("#pw-index-whatif .pw-twin-table tbody tr")).to_have_count(7)
    assert len(site.reader.commands(RUN)) == n_asked


def test_a_stretch_is_brushed_on_the_strip(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at=10")
    first = page.get_by_label("First batch", exact=True)
    expect(first).to_have_value("1")
    box = page.locator(".pw-brush").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 2, steps=4)
    page.mouse.up()
    until(page, "new URLSearchParams(location.search).get('span') !== null")
    span = page.evaluate("new URLSearchParams(location.search).get('span')")
    until(page, f"new URLSearchParams(location.search).get('show') === 'S@bits 2 5@{span}'")
    expect(first).to_have_value(span.split("-")[0])
    expect(page.locator("#pw-index-whatif-note")).to_contain_text(
        f"of batches {span.split('-')[0]}"
    )


def test_an_index_that_is_tried_is_taken_live(
    open_page: OpenPage, site: Site, run: AmriRecording
) -> None:
    page = open_page(f"{PAGE}&show=S@bits+4+5")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    box = page.locator(".pw-tried-asks")
    expect(box).to_contain_text("Index bits B: 9, then Bits that stay: S: 4 5")
    for name, value in (("index_bits", 9), ("pinned_bits", "S: 4 5")):
        with asking(page, site.reader, RUN):
            if name == "index_bits":
                box.get_by_role("button", name="Take it live").click()
        run.write(site.writer.pending_commands(RUN))
        turned = max(site.reader.commands(RUN), key=lambda command: command.id).payload
        assert (turned["knob"], turned["value"]) == (name, value)
    expect(box.locator(".pw-chip")).to_contain_text("applied at batch")


def test_the_lattice_tells_how_often_and_who_asks(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={MOVED + 2}")
    graph = PLOT.format("pattern-lattice")
    until(page, f"{graph} && {graph}.data && {graph}.data.length === 3")
    said = page.evaluate(f"{graph}.data[2].customdata.join(' | ')")
    assert "asked by a: 70.0\u2009% to 72.0\u2009% of the requests" in said
    assert "by T → S → U" in said
    page.locator("#pw-pattern-lattice .pw-twin-switch").click()
    row = page.locator("#pw-pattern-lattice .pw-twin-table tbody tr").filter(has_text="a, b")
    expect(row).to_contain_text("not reported, folded into a")
    expect(row).to_contain_text("U → T → S")


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
    expect(row).to_contain_text(re.compile(r"Index bits B [89].* → 64"))
    now = {knob.name: knob.value for knob in site.reader.knobs(RUN)}
    others = [name for name, value in AS_IN_THE_PAPER.items() if now[name] != value]
    with asking(page, site.reader, RUN, len(others)):
        row.get_by_role("button", name=f"Take ({len(others)} turns)").click()
    asked = [command.payload for command in site.reader.commands(RUN)[len(others) - 1 :: -1]]
    assert [turn["knob"] for turn in asked] == others
    assert all(turn["value"] == AS_IN_THE_PAPER[str(turn["knob"])] for turn in asked)
