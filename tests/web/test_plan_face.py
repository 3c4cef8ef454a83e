"""The face of the Plan page: headline, lane, ghosts and dots, hover cards, inspector."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from tests.web.axe import violations
from tests.web.conftest import Ask, OpenPage, until
from tests.web.recorded_parts import ATTRIBUTES
from tests.web.site import Site
from tests.web.test_plan_page import graph_of

pytestmark = pytest.mark.web
SIZES = [(1440, 900), (1280, 720)]


def _live(open_page: OpenPage, **view: str) -> Page:
    page = graph_of(open_page("/plan", **view))
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")
    return page


def _moved(site: Site) -> tuple[str, list[str]]:
    """The recording's order with its last attribute first: (the attribute, the order)."""
    order = list(site.recording.order)
    return order[-1], [order[-1], *order[:-1]]


def test_the_headline_tells_what_adapting_saved_with_its_interval(open_page: OpenPage) -> None:
    page = graph_of(open_page("/plan?run=r1&at=140"))
    headline = page.locator("#plan-headline")
    expect(headline).to_contain_text(re.compile(r"Adapting saved \d+"))
    expect(headline).to_contain_text(re.compile(r"of the visits of the first order, ± [\d.]+"))
    expect(headline).to_contain_text("2 plan changes")
    expect(headline.get_by_role("link", name="batch 110")).to_be_visible()
    expect(headline).to_contain_text("visits per tuple moved by 0.31, at least Threshold μ = 0.1")
    expect(headline.get_by_role("link", name="why?")).to_have_attribute("data-pw-at", "110")
    curve = headline.get_by_role("img", name=re.compile("visits saved over the run"))
    curve.focus()
    expect(headline.locator(".pw-gain-tip")).to_contain_text("95 %")
    page.keyboard.press("ArrowLeft")
    expect(headline.locator(".pw-gain-tip")).not_to_contain_text("batch 140")


def test_the_numerals_of_the_headline_roll(open_page: OpenPage) -> None:
    page = graph_of(open_page("/plan?run=r1&at=120"))
    reels = page.locator("#plan-headline .pw-reel-digits")
    figure = page.locator("#plan-headline .pw-rolling .pw-sr")
    told, last = figure.inner_text(), reels.last.element_handle()
    assert last is not None
    page.evaluate(
        "window.rolled = 0; document.addEventListener('transitionend', ({target}) => {"
        " rolled += target.classList.contains('pw-reel-digits'); })"
    )
    page.evaluate("planwatch.go({at: 199})")
    expect(figure).not_to_have_text(told)
    until(page, "rolled > 0")
    assert last.evaluate("reel => reel.isConnected"), "it was turned, not drawn anew"
    digits = [sign for sign in figure.inner_text() if sign.isdigit()]
    ems = reels.evaluate_all("all => all.map(r => r.style.transform)")
    assert ems == [f"translateY({-int(digit) or 0}em)" for digit in digits]


def test_no_words_of_the_headline_are_cut(open_page: OpenPage) -> None:
    for width, height in SIZES:
        page = graph_of(open_page("/plan?run=r1&at=140", width=width, height=height))
        cut = page.eval_on_selector_all(
            "#plan-headline p",
            "all => all.filter(p => p.scrollWidth > p.clientWidth + 1"
            " || p.scrollHeight > p.clientHeight + 4).map(p => p.textContent)",
        )
        assert cut == []


@pytest.mark.parametrize(
    ("width", "height", "pinned"),
    [(1440, 900, ""), (1280, 720, ""), (1440, 900, "&node=asc:month")],
)
def test_a_chain_is_one_lane_from_left_to_right(
    open_page: OpenPage, width: int, height: int, pinned: str
) -> None:
    page = graph_of(open_page(f"/plan?run=r1&at=100{pinned}", width=width, height=height))
    if pinned:
        expect(page.locator("#plan-inspector [data-pinned]")).to_be_visible()
    lefts = "cards => cards.map(c => c.getBoundingClientRect().left)"
    tops = "all => new Set(all.map(b => b.getBoundingClientRect().top)).size"
    shown = page.eval_on_selector_all(".pw-card-box", lefts)
    assert shown == sorted(shown)
    assert page.eval_on_selector_all(".pw-card-box", tops) == 1
    ranks = page.locator(".pw-card-rank").all_text_contents()
    assert ranks == [str(place) for place in range(1, len(ATTRIBUTES) + 1)]
    names = page.locator(".pw-card-name").all_text_contents()
    assert not [name for name in names if "…" in name]
    inside = page.evaluate(
        "[...document.querySelectorAll('.pw-card')].every(card => {"
        " const box = card.querySelector('.pw-card-box').getBoundingClientRect();"
        " return [...card.querySelectorAll('text')].every(t => {"
        "  const r = t.getBoundingClientRect();"
        "  return r.right <= box.right + 1 && r.left >= box.left - 1; }); })"
    )
    assert inside


def test_the_inspector_of_a_card_stands_beside_it(open_page: OpenPage) -> None:
    page = graph_of(open_page("/plan?run=r1&at=100"))
    graph, side = page.locator("#pw-plan-twin"), page.locator(".pw-plan-side")
    wide, below = graph.bounding_box(), side.bounding_box()
    assert wide is not None
    assert below is not None
    assert below["y"] >= wide["y"] + wide["height"]
    page.locator(".pw-card[data-id='asc:month']").click()
    expect(side.locator("[data-pinned]")).to_be_visible()
    narrow, beside = graph.bounding_box(), side.bounding_box()
    assert narrow is not None
    assert beside is not None
    assert narrow["width"] < wide["width"]
    assert beside["y"] == narrow["y"]


def test_old_places_stay_in_sight_and_the_strip_pulses(open_page: OpenPage, site: Site) -> None:
    page = _live(open_page)
    site.feed()
    graph_of(page, site.recording.next_batch - 1)
    mover, order = _moved(site)
    site.feed(order=order)
    ghosts = page.locator(".pw-ghost[data-ghost]")
    expect(ghosts).to_have_count(1)
    expect(ghosts).to_have_attribute("data-ghost", f"asc:{mover}")
    expect(ghosts).to_have_text(str(len(order)))
    expect(page.locator(".pw-card-moved")).to_have_attribute("data-id", f"asc:{mover}")
    expect(page.locator(".pw-mark-new")).to_have_count(1)
    expect(page.locator("#plan-headline")).to_contain_text(f"{mover} before")
    expect(ghosts).to_have_count(0)
    expect(page.locator(".pw-card-moved")).to_have_count(0)


def test_dots_fly_with_a_batch_and_are_gone(open_page: OpenPage, site: Site) -> None:
    page = _live(open_page)
    page.evaluate(
        "window.most = 0; new MutationObserver(() => { most = Math.max(most,"
        " document.querySelectorAll('.pw-dots i').length); }).observe("
        "document.querySelector('.pw-dots'), {childList: true})"
    )
    site.feed()
    until(page, "most === 12")
    expect(page.locator(".pw-dots i")).to_have_count(0)


def test_nothing_moves_for_who_asked_for_less_motion(open_page: OpenPage, site: Site) -> None:
    page = _live(open_page, motion="reduce")
    page.evaluate(
        "window.moved = 0; new MutationObserver(() => { moved += document.querySelectorAll("
        "'.pw-dots i, .pw-ghost, .pw-card-moved, .pw-mark-new').length; }).observe("
        "document.body, {childList: true, subtree: true, attributeFilter: ['class']})"
    )
    site.feed()
    _, order = _moved(site)
    site.feed(order=order)
    expected = " ".join(f"asc:{name}" for name in order)
    expect(page.locator("#plan-graph")).to_have_attribute("data-order", expected)
    page.wait_for_timeout(400)  # sleeps: nothing moves
    assert page.evaluate("moved") == 0


def test_hover_cards_come_with_focus_and_stay_in_the_window(open_page: OpenPage) -> None:
    page = graph_of(open_page("/plan?run=r1&at=100", width=1280, height=720))
    tip = page.locator(".pw-graph .pw-tip")
    page.locator(".pw-card[data-id='asc:month']").focus()
    expect(tip).to_contain_text("drop probability")
    box = tip.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 720
    page.locator(".pw-queue").first.focus()
    expect(tip).to_contain_text("Queue")
    expect(tip).to_contain_text("of the batch")
    assert page.locator("#plan-graph title").count() == 0
    assert page.locator(".js-plotly-plot, .modebar").count() == 0


def test_the_inspector_is_in_groups(open_page: OpenPage) -> None:
    page = graph_of(open_page("/plan?run=r1&at=100"))
    captions = page.locator("#plan-inspector .pw-properties .pw-caption")
    expect(captions).to_have_text(["Speed", "Cost", "Quality", "Store"])
    name = page.locator("#plan-inspector .pw-term", has_text="Throughput")
    name.focus()
    expect(page.locator("#pw-term-tip")).to_contain_text("tuples_per_s")


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_beside_a_pinned_card(open_page: OpenPage, scheme: str) -> None:
    page = graph_of(open_page("/plan?run=r1&at=160&node=asc:month", scheme=scheme))
    expect(page.locator("#plan-inspector [data-pinned]")).to_be_visible()
    assert violations(page) == []


COLUMNS = [{"x": 100 * place, "w": 100, "y": 50, "most": 80, "row": 0} for place in range(4)]


def _chain(role: str) -> dict[str, list[dict[str, str]]]:
    """A source, two steps and an output, and what goes through their queues."""
    names = ["s", "a", "b", "o"]
    roles = ["source", role, role, "output"]
    nodes = [{"id": n, "role": r, "entity": n} for n, r in zip(names, roles, strict=True)]
    pairs = pairwise(names)
    return {"nodes": nodes, "edges": [{"source": a, "target": z, "queue": z} for a, z in pairs]}


class TestBand:
    """modules/graph_band.js."""

    SHARES = "m.sharesOf(plan, plan.nodes, facts)"

    def test_the_band_is_as_thick_as_the_share_alive(self, ask: Ask) -> None:
        plan = _chain("step")
        cards = {"a": {"survival": 0.4}, "b": {"survival": None}}
        facts = {"cards": cards, "values": {"s": {"reached_tuples": 50}}, "n": 50}
        assert ask("graph_band", self.SHARES, plan=plan, facts=facts) == [1, 0.4, None]
        expression = f"m.through({self.SHARES})"
        pairs = ask("graph_band", expression, plan=plan, facts=facts)
        assert pairs == [[1, 1], [1, 0.4], [0.4, 0.4], [0.4, 0.4]]

    def test_without_early_drop_it_stays_until_the_end(self, ask: Ask) -> None:
        plan = {**_chain("step"), "band": True}
        cards = {"a": {"survival": 0.4}, "b": {"survival": 0.1}}
        facts = {"cards": cards, "values": {"s": {"reached_tuples": 50}}, "n": 50}
        assert ask("graph_band", self.SHARES, plan=plan, facts=facts) == [1, 1, 0.1]

    def test_operators_tell_by_their_queues(self, ask: Ask) -> None:
        facts = {"cards": {}, "values": {"s": {}, "a": 40, "b": 10, "o": 20}, "n": 0}
        shares = ask("graph_band", self.SHARES, plan=_chain("operator"), facts=facts)
        assert shares == [None, 0.25, 0.5]

    def test_its_outline_falls_inside_the_columns(self, ask: Ask) -> None:
        alive = [[1, 1], [1, 0.5], [0.5, 0.5], [0.5, 0]]
        path = ask("graph_band", "m.bandPath(c, a)", c=COLUMNS, a=alive)
        assert path.startswith("M0,10 H28")
        assert "H400 V51" in path
        assert path.endswith("H0 Z")
        bites = ask(
            "graph_band", "c.map((one, i) => m.bitePath(one, a[i]) !== '')", c=COLUMNS, a=alive
        )
        assert bites == [False, True, False, True]

    def test_dots_fall_out_where_tuples_are_dropped(self, ask: Ask) -> None:
        alive = [[1, 1], [1, 0.5], [0.5, 0.25], [0.25, 0.25]]
        ways = ask("graph_band", "m.laneWays(c, a)", c=COLUMNS, a=alive)
        ends = [way["points"][-1][0] for way in ways]
        assert sorted(ends) == [175] * 6 + [275] * 3 + [400] * 3
        assert [way["fell"] for way in ways].count(False) == 3
        for way in ways:
            xs = [x for x, _ in way["points"]]
            assert xs == sorted(xs)


def test_the_card_that_went_to_the_front_has_moved_not_all_it_overtook(ask: Ask) -> None:
    def laid(order: str) -> dict[str, object]:
        nodes = [{"id": n, "name": n, "position": p} for p, n in enumerate(order, 1)]
        places = {n: {"x": 100 * p, "y": 0, "w": 90, "h": 90} for p, n in enumerate(order)}
        return {"plan": {"nodes": nodes}, "layout": {"places": places, "columns": []}}

    moved = "m.movedSince(a, z).map((one) => [one.id, one.position, one.far])"
    assert ask("graph_layout", moved, a=laid("abcd"), z=laid("dabc")) == [["d", 4, 3]]
    assert ask("graph_layout", moved, a=laid("abcd"), z=laid("bacd")) == [["a", 1, 1], ["b", 2, 1]]
    assert ask("graph_layout", moved, a=laid("abcd"), z=laid("abcd")) == []
