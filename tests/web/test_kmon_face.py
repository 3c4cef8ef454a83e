"""What joins under k-constraints show: the k ledger, what if k, synopses in parts, k over time."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.web.axe import violations
from tests.web.conftest import Ask, OpenPage, until, until_asked
from tests.web.recorded_kmon import NAMES, OAC, RIDS, RUN, KMonRecording, record_kmon
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
PAGE = f"/constraints?run={RUN}"
N_BATCHES = 30
#: The others are among those of test_accessibility.
VIEWS = [("dark", 1280, 720), ("light", 390, 844)]
#: What is drawn and written of the ledger and of the what-if, but for what can be pressed.
SHOWN = """[...document.querySelectorAll("#pw-k-ledger-drawing, #pw-k-whatif-drawing")]
.map((one) => one.innerHTML.replace(/ disabled=""| title="[^"]*"/g, ""))"""


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> KMonRecording:
    """The running run."""
    return record_kmon(site.writer, N_BATCHES)


def feed(site: Site, run: KMonRecording) -> None:
    """A batch that is recorded now, with what was asked for."""
    run.write(site.writer.pending_commands(RUN), time.time())


def row_of(page: Page, name: str) -> str:
    """The selector of a constraint."""
    return f'.pw-k[data-constraint="{name}"]'


def drawn(page: Page) -> list[str]:
    """The ledger and the what-if once they are there."""
    until(page, "document.querySelectorAll('.pw-k').length > 0")
    until(page, "document.querySelector('.pw-k-whatif') !== null")
    found: list[str] = page.evaluate(SHOWN)
    return found


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_the_page_is_drawn_and_axe_finds_nothing(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = open_page(f"{PAGE}&at=15", scheme=scheme, width=width, height=height)
    expect(page.locator(".pw-k")).to_have_count(len(NAMES))
    expect(page.locator(".pw-k-held h3")).to_contain_text("tuples held where a join without")
    rids = page.locator(row_of(page, RIDS))
    expect(rids).to_have_attribute("data-state", "used")
    expect(rids).to_have_attribute("data-used", "160")
    assert rids.locator("svg.pw-k-above").count() > 0, "a distance above k has its own sign"
    assert rids.locator("circle.pw-k-dot").count() > 0
    endless = page.locator(row_of(page, OAC))
    expect(endless).to_have_attribute("data-used", "∞")
    expect(endless.locator(".pw-k-endless")).to_have_text("∞")
    expect(endless.get_by_role("img")).to_have_attribute(
        "aria-label", "k in use ∞; no estimate yet; 0 distances drawn, 0 above the k of their time"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


def test_the_page_is_in_the_menu_of_runs_that_have_constraints(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={RUN}")
    page.locator('.pw-nav-link[data-pw-path="/constraints"]').click()
    expect(page.locator(".pw-k")).to_have_count(len(NAMES))


def test_rows_are_sorted_and_the_table_has_their_numbers(open_page: OpenPage) -> None:
    page = open_page(PAGE)
    names = "[...document.querySelectorAll('.pw-k')].map((one) => one.dataset.constraint)"
    drawn(page)
    assert page.evaluate(names)[0] == "RIDS O → B"
    page.get_by_label("Sort by").select_option("name")
    until(page, f"{names}.join() === {','.join(sorted(NAMES))!r}")
    page.locator("#pw-k-ledger .pw-twin-switch").click()
    row = page.locator("#pw-k-ledger tbody tr").filter(has_text=RIDS)
    expect(row).to_contain_text("1\u2009100")
    expect(page.locator("#pw-k-ledger tbody tr").filter(has_text=OAC)).to_contain_text("∞")


def test_k_is_dragged_typed_and_moved_by_keys_and_is_in_the_address(
    open_page: OpenPage, site: Site
) -> None:
    page = open_page(PAGE)
    drawn(page)
    page.get_by_role("button", name=f"What if {RIDS} had another k").click()
    tried = page.locator(f'.pw-k-whatif[data-constraint="{RIDS}"]')
    expect(tried).to_have_attribute("data-k", "1\u202f100")
    page.get_by_label("Tried k", exact=True).fill("300")
    expect(tried).to_have_attribute("data-k", "300")
    answer = page.locator(".pw-k-answer")
    expect(answer).to_contain_text("recorded distances are above it, 95\u2009% interval")
    expect(answer).to_contain_text("0.27\u2009× what waits at the k in use, 1\u202f100")
    before = float(tried.get_attribute("data-share") or "nan")
    edge = page.get_by_role("slider", name=f"Tried k of {RIDS}")
    edge.focus()
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('.pw-k-whatif').dataset.k !== '300'")
    assert float(tried.get_attribute("data-share") or "nan") < before
    page.keyboard.press("End")
    expect(tried).to_have_attribute("data-k", "∞")
    expect(answer).to_contain_text("nothing is let go by it")
    assert page.locator('.pw-k-bar[data-above="1"]').count() == 0
    page.keyboard.press("Home")
    expect(tried).to_have_attribute("data-k", "0")
    box = page.locator(".pw-k-chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 60, steps=4)
    page.mouse.up()
    until(page, "Number(document.querySelector('.pw-k-whatif').dataset.k) > 20")
    told = "document.querySelector('.pw-k-whatif').dataset.k"
    until(page, f"new URLSearchParams(location.search).get('show') === '{RIDS}@' + {told}")
    k = tried.get_attribute("data-k")
    page.reload()
    expect(page.locator(".pw-k-whatif")).to_have_attribute("data-k", k or "")
    assert site.reader.commands(RUN) == ()  # trying asks for nothing


def test_a_replay_shows_the_page_as_it_was(
    open_page: OpenPage, site: Site, run: KMonRecording
) -> None:
    feed(site, run)
    at = run.next_batch - 1
    page = open_page(PAGE)
    live = drawn(page)
    feed(site, run)
    again = drawn(open_page(f"{PAGE}&at={at}"))
    assert again == live
    later = drawn(open_page(f"{PAGE}&at={at + 1}"))
    assert later != live


def test_a_constraint_is_pinned_and_a_loss_accepted(
    open_page: OpenPage, site: Site, run: KMonRecording
) -> None:
    feed(site, run)
    n = len(site.reader.commands(RUN))
    page = open_page(f"{PAGE}&show={RIDS}@300")
    pin = page.get_by_role("button", name=f"Pin {RIDS}", exact=True)
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    pin.click()
    until_asked(page, site.reader, RUN, n + 1)
    feed(site, run)
    expect(pin).to_have_attribute("aria-pressed", "true")
    assert run.choices["pinned_constraints"] == RIDS
    page.get_by_role("button", name="Accept a loss of").click()
    until_asked(page, site.reader, RUN, n + 2)
    feed(site, run)
    until(page, "document.querySelector('.pw-k-take').textContent.includes('budget in force')")
    assert 0.1 < run.choices["loss_budget"] < 0.5
    pin.click()
    until_asked(page, site.reader, RUN, n + 3)
    feed(site, run)
    expect(pin).to_have_attribute("aria-pressed", "false")


def test_the_plan_has_synopses_in_parts_and_brackets_of_k(
    open_page: OpenPage, site: Site, run: KMonRecording
) -> None:
    page = open_page(f"/plan?run={RUN}&at=15")
    card = page.locator('.pw-card[data-id="s:B"]')
    expect(card.locator("[data-part]")).to_have_count(4)
    expect(card).to_have_attribute(
        "aria-label",
        "Tuples of B, synopsis in parts: 255 of 20.0k, 1.3\u2009%, Yes 80, Unknown 140, No 35,"
        " spilled 220",
    )
    join = page.locator('.pw-card[data-id="join"]')
    expect(join).to_have_attribute("aria-label", re.compile("k = 4, 160 · 3 × ∞$"))
    waits = page.locator("#pw-k-synopses .pw-ks-waits li")
    expect(waits).to_have_count(3)
    expect(waits.filter(has_text=RIDS)).to_have_attribute("data-k", "160")
    expect(waits.filter(has_text=OAC).locator(".pw-ks-open")).to_have_count(1)
    expect(page.locator(".pw-gain")).to_contain_text("constraints hold")


def test_the_bars_follow_the_stream(open_page: OpenPage, site: Site, run: KMonRecording) -> None:
    feed(site, run)
    page = open_page(f"/plan?run={RUN}")
    part = page.locator('.pw-card[data-id="s:B"] [data-part=unknown_tuples]')
    expect(part).to_have_attribute("width", re.compile(r"[1-9]"))
    before = float(part.get_attribute("width") or "nan")
    run.choices["forbidden_constraints"] = RIDS
    feed(site, run)
    width = (
        "document.querySelector('[data-id=\"s:B\"] [data-part=unknown_tuples]').width.baseVal.value"
    )
    until(page, f"{width} > {before}")
    run.choices["forbidden_constraints"] = ""


def test_k_over_time_ends_at_the_top_where_it_is_none(open_page: OpenPage) -> None:
    page = open_page(f"/timeline?run={RUN}")
    graph = "document.querySelector('#pw-k-lanes-graph .js-plotly-plot')"
    until(page, f"{graph} && {graph}.data && {graph}.data.length === {3 * len(NAMES)}")
    course = f"{graph}.data.find((t) => t.meta && t.meta.constraint === 'k:{RIDS}').y"
    heights = page.evaluate(f"[...{course}].slice(0, {N_BATCHES})")
    assert heights[16] < heights[25] < 1
    assert heights[18] == 1


def test_the_post_mortem_tells_what_was_held(open_page: OpenPage) -> None:
    page = open_page(f"/postmortem?run={RUN}")
    told = page.locator("#pw-page")
    expect(told).to_contain_text("tuples on average where joins without k-constraints would hold")
    expect(told).to_contain_text("(measured batch by batch)")


class TestAxis:
    """k_axis.js."""

    ROWS = [{"k": 0}, {"k": 10}, {"k": 40}, {"k": None}]  # noqa: RUF012 — plain data of this test

    def test_numbers_stand_in_their_order_and_none_is_at_the_end(self, ask: Ask) -> None:
        places = ask("k_axis", "ks.map((k) => m.placeOf(k, 1000))", ks=[0, 1, 10, 1000, None])
        assert places == sorted(places)
        assert (places[0], places[-2], places[-1]) == (0, 90, 97)

    def test_keys_go_from_row_to_row(self, ask: Ask) -> None:
        keyed = "m.keyedK(rows, key, k)"
        cases = [
            ("ArrowRight", 10, 40), ("ArrowRight", 25, 40), ("ArrowLeft", 25, 10),
            ("ArrowLeft", 10, 0), ("ArrowLeft", 0, 0), ("ArrowRight", 40, None),
            ("ArrowLeft", None, 40), ("PageUp", 0, None), ("Home", 40, 0), ("End", 0, None),
        ]  # fmt: skip
        for key, k, wanted in cases:
            assert ask("k_axis", keyed, rows=self.ROWS, key=key, k=k) == wanted, (key, k)
        assert ask("k_axis", f"{keyed} === undefined", rows=self.ROWS, key="x", k=0)

    def test_between_two_rows_the_lower_one_tells(self, ask: Ask) -> None:
        ks = ask("k_axis", "ks.map((k) => m.rowOf(rows, k).k)", rows=self.ROWS, ks=[9, 10, 99])
        assert ks == [0, 10, 40]

    def test_a_k_is_read_as_it_is_written(self, ask: Ask) -> None:
        read = "texts.map((one) => m.parsedK(one))"
        assert ask("k_axis", read, texts=["1 100", "∞", "1\u2009100"]) == [1100, None, 1100]
        assert ask("k_axis", "m.parsedK(text) === undefined", text="-3")
        assert ask("k_axis", "m.kText(m.parsedK('12345'))", text="") == "12\u202f345"
