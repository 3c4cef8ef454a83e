"""The market for memory: pools dragged, bids divided again by the server, caches pinned."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from storage.vocabulary.market import Consumer, Market
from storage.vocabulary.memory import Bid, Tier
from tests.web.axe import violations
from tests.web.conftest import Ask, OpenPage, until
from tests.web.joins_run import UNIT, JoinsRun
from tests.web.site import Site
from tests.web.stream_run import StreamRun

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "keys"
VIEWS = [("dark", 1440, 900), ("light", 1280, 720)]
KB = 1024
#: Waits for longer than an edge rests before it asks, by a timer set after that one.
_RESTED = "() => new Promise((done) => setTimeout(done, 100))"


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> Iterator[JoinsRun]:
    """The running run, with caches in use."""
    made = JoinsRun(Path(site.path), RUN).ticks(4)
    yield made
    made.close()


def values_of(run: JoinsRun, role: str, name: str, at: int | None = None) -> dict[str, Any]:
    """The numbers of the newest batch of what people call so."""
    entity = next(e for e in run.reader.entities(RUN, at) if (e.role, e.name) == (role, name))
    return dict(run.reader.values(RUN, at)[entity.id])


def bid_of(page: Page, name: str) -> Locator:
    """A bid on the market."""
    return page.locator("#pw-market .pw-bid").filter(has=page.get_by_text(name, exact=True))


def cache_of(page: Page, name: str) -> Locator:
    """A cache or a candidate for one."""
    return page.locator("#pw-caches .pw-bid").filter(has=page.get_by_text(name, exact=True))


def _pressed(name: str, is_pressed: bool) -> str:
    """JavaScript: whether a button that can be held is so."""
    return (
        f"document.querySelector('[aria-label=\"{name}\"][aria-pressed={json.dumps(is_pressed)}]')"
    )


def until_shown(page: Page, run: JoinsRun, condition: str) -> None:
    """Batches until the page shows what was turned."""
    for _ in range(40):
        if page.evaluate(condition):
            return
        run.ticks(1)
        page.wait_for_timeout(400)  # sleeps: asked again
    raise AssertionError(f"never true: {condition}")


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_the_market_shows_what_is_bid_and_had(
    open_page: OpenPage, run: JoinsRun, scheme: str, width: int, height: int
) -> None:
    page = open_page(f"/memory?run={RUN}", scheme=scheme, width=width, height=height)
    expect(page.locator(".pw-caches h3").first).to_contain_text("Caches save")
    cache = values_of(run, "cache", "R ⋈ S")
    row = bid_of(page, "R ⋈ S")
    expect(row).to_have_attribute("data-granted", str(int(cache["granted_bytes"])))
    expect(row).to_contain_text("probes per KiB")
    expect(row).to_contain_text("cache · Pool of a and b and c")
    expect(cache_of(page, "R ⋈ S")).to_have_attribute("data-state", "used")
    expect(cache_of(page, "R ⋈ S")).to_contain_text(f"{int(cache['cache_entries'])} entries")
    bids = page.evaluate(BIDS)
    assert bids == sorted(bids, reverse=True)
    others = page.get_by_role("list", name="What holds memory without a bid")
    expect(others.get_by_text("no bid").first).to_be_visible()
    edge = page.get_by_role("slider", name=OWN)
    expect(edge).to_have_attribute("aria-valuenow", str(64 * KB))
    takes = page.locator("#pw-takes")
    expect(takes).to_contain_text("Pool of caches")
    expect(takes).to_contain_text("of 64\u2009KiB")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


#: What bids save, from top to bottom.
BIDS = """[...document.querySelectorAll("#pw-market [data-gain]")]
.map((one) => +one.dataset.gain)"""
OWN = "Pool of a and b and c"


def test_the_edge_is_dragged_previewed_and_applied_and_grants_follow(
    open_page: OpenPage, run: JoinsRun
) -> None:
    page = open_page(f"/memory?run={RUN}")
    edge = page.get_by_role("slider", name=OWN)
    expect(edge).to_have_attribute("aria-valuenow", str(64 * KB))
    box = edge.bounding_box()
    bar = page.locator(".pw-pool").filter(has=edge).bounding_box()
    assert box is not None
    assert bar is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(bar["x"] + 3, box["y"] + 20, steps=5)
    page.mouse.up()
    draft = page.locator(".pw-market-draft")
    expect(draft).to_contain_text("Draft: 64\u2009KiB → 0\u2009B.")
    expect(draft).to_contain_text("R ⋈ S goes, with")
    expect(draft).to_contain_text("estimated saving −100\u2009%")
    expect(page.locator(".pw-pool-going").first).to_be_visible()
    expect(bid_of(page, "R ⋈ S")).to_have_attribute("data-granted", "0")
    edge.focus()
    page.keyboard.press("ArrowRight")
    expect(draft).to_contain_text("→ 4\u2009KiB.")
    assert run.loop.settings.scopes[UNIT].whole("pool_bytes") == 64 * KB  # a draft is no request
    expect(draft).to_have_attribute("aria-busy", "false")
    forecast = page.evaluate(OUTCOME)["forecast"]
    draft.get_by_role("button", name="Apply").click()
    limit = f"document.querySelector('[aria-label=\"{OWN}\"].pw-market-pool').dataset.limit"
    until_shown(page, run, f"{limit} === '4096'")
    expect(draft).to_have_count(0)
    run.ticks(1)
    assert values_of(run, "pool", OWN)["granted_bytes"] <= 4 * KB
    (last, *_) = run.reader.commands(RUN)
    asked = last.payload["knob"], last.payload["value"], last.state
    assert asked == ("pool_bytes", 4096, "applied")
    expect(page.locator(".pw-market-effect")).to_contain_text("64\u2009KiB → 4\u2009KiB")
    told = page.evaluate(OUTCOME)
    assert (told["forecast"], -1 <= told["measured"] < 0) == (pytest.approx(forecast), True)
    until_shown(page, run, f"{GRANTED} <= 4096")


#: What the last turn was to bring, and what it came to.
OUTCOME = """(({ forecast, measured }) => ({ forecast: +forecast, measured: +measured }))
(document.querySelector("#pw-market .pw-market-outcome").dataset)"""
#: What all caches have, in bytes.
GRANTED = """[...document.querySelectorAll("#pw-market [data-granted]")]
.reduce((sum, one) => sum + +one.dataset.granted, 0)"""


def test_the_pool_of_the_run_is_turned_and_grants_follow(
    open_page: OpenPage, run: JoinsRun
) -> None:
    page = open_page(f"/memory?run={RUN}")
    edge = page.get_by_role("slider", name="Pool of the run")
    expect(edge).to_have_attribute("aria-valuetext", "no limit")
    edge.focus()
    page.keyboard.press("Home")
    draft = page.locator(".pw-market-draft")
    expect(draft).to_contain_text("Draft: no limit → 4\u2009KiB.")
    draft.get_by_role("button", name="Apply").click()
    until_shown(page, run, "document.querySelector('[data-pool=\"\"]').dataset.limit === '4096'")
    assert 0 < values_of(run, "run pool", "Pool of the run")["granted_bytes"] <= 4 * KB
    assert values_of(run, "pool", OWN)["granted_bytes"] <= 4 * KB
    edge.focus()
    page.keyboard.press("End")
    expect(draft).to_contain_text("4\u2009KiB → no limit.")


def test_while_the_edge_moves_one_question_is_open_and_the_newest_answer_is_shown(
    open_page: OpenPage, run: JoinsRun
) -> None:
    """Where the server is slow what is asked meanwhile waits, and the newest of it is asked."""
    page = open_page(f"/memory?run={RUN}&at=2")
    asked: list[Route] = []
    page.route("**/market?*", lambda route: asked.append(route))
    edge = page.get_by_role("slider", name="Pool of the run")
    edge.focus()
    page.keyboard.press("Home")
    held(page, asked, 1)
    draft = page.locator(".pw-market-draft")
    expect(draft).to_have_attribute("aria-busy", "true")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        expect(draft).to_have_attribute("aria-busy", "true")
    expect(draft).to_contain_text("→ 16\u2009KiB.")
    page.evaluate(_RESTED)
    assert [value_of(route) for route in asked] == [4 * KB]
    asked[0].continue_()
    held(page, asked, 2)
    assert value_of(asked[1]) == 16 * KB
    expect(draft).to_contain_text("Dividing the bids again")
    with page.expect_response("**/market?*") as answer:
        asked[1].continue_()
    expect(draft).to_have_attribute("aria-busy", "false")
    expect(draft).to_contain_text(answer.value.json()["words"])
    assert len(asked) == 2


def held(page: Page, asked: list[Route], n: int) -> None:
    """Wait until so many questions were asked."""
    for _ in range(200):
        if len(asked) >= n:
            return
        page.wait_for_timeout(20)  # sleeps: asked again
    raise AssertionError(f"{n} questions were never asked")


def value_of(route: Route) -> int:
    """The limit that a request asks about."""
    return int(parse_qs(urlsplit(route.request.url).query)["value"][0])


def test_escape_leaves_and_discard_forgets_a_draft(open_page: OpenPage, run: JoinsRun) -> None:
    page = open_page(f"/memory?run={RUN}")
    edge = page.get_by_role("slider", name=OWN)
    edge.focus()
    page.keyboard.press("PageUp")
    draft = page.locator(".pw-market-draft")
    draft.get_by_role("button", name="Discard").click()
    expect(draft).to_have_count(0)
    page.keyboard.press("Home")
    assert not [c for c in run.reader.commands(RUN) if c.state == "requested"]


def test_caches_are_forbidden_pinned_and_let_go(open_page: OpenPage, run: JoinsRun) -> None:
    page = open_page(f"/memory?run={RUN}")
    forbid = page.get_by_role("button", name="Forbid R ⋈ S", exact=True)
    forbid.click()
    state = "document.querySelector('.pw-bid[data-cache$=\" 0,1|1\"]').dataset.state"
    until_shown(page, run, f"{state} === 'unused'")
    assert run.loop.settings.scopes[UNIT].word("forbidden_caches") == "R ⋈ S"
    expect(forbid).to_have_attribute("aria-pressed", "true")
    assert values_of(run, "cache", "R ⋈ S")["granted_bytes"] == 0
    forbid.click()
    until_shown(
        page, run, "document.querySelector('[aria-label=\"Forbid R ⋈ S\"][aria-pressed=false]')"
    )
    page.get_by_role("button", name="Pin R ⋈ S", exact=True).click()
    until_shown(
        page, run, "document.querySelector('[aria-label=\"Pin R ⋈ S\"][aria-pressed=true]')"
    )
    until_shown(page, run, f"{state} === 'used'")
    assert run.loop.settings.scopes[UNIT].word("pinned_caches") == "R ⋈ S"


def test_replay_divides_the_bids_of_its_moment(open_page: OpenPage, run: JoinsRun) -> None:
    """Trying is possible in the past as well; applying is not."""
    page = open_page(f"/memory?run={RUN}&at=2")
    pool = values_of(run, "pool", OWN, 2)
    shown = page.locator(f".pw-market-pool[aria-label='{OWN}']")
    expect(shown).to_have_attribute("data-limit", str(int(pool["pool_bytes"])))
    cache = values_of(run, "cache", "R ⋈ S", 2)
    expect(bid_of(page, "R ⋈ S")).to_have_attribute(
        "data-granted", str(int(cache["granted_bytes"]))
    )
    page.get_by_role("slider", name=OWN).focus()
    page.keyboard.press("Home")
    draft = page.locator(".pw-market-draft")
    expect(draft).to_contain_text("R ⋈ S goes, with")
    expect(bid_of(page, "R ⋈ S")).to_have_attribute("data-granted", "0")
    expect(draft.get_by_role("button", name="Apply")).to_be_disabled()
    draft.get_by_role("button", name="Discard").click()
    expect(bid_of(page, "R ⋈ S")).to_have_attribute(
        "data-granted", str(int(cache["granted_bytes"]))
    )


def test_pipelines_on_the_plan_and_lanes_on_the_timeline(
    open_page: OpenPage, run: JoinsRun
) -> None:
    page = open_page(f"/plan?run={RUN}")
    pipes = page.locator("#pw-pipelines .pw-pipe")
    expect(pipes).to_have_count(4)
    expect(pipes.nth(2)).to_contain_text("T")
    expect(page.locator(".pw-pipe-cache", has_text="R ⋈ S").first).to_be_visible()
    page = open_page(f"/timeline?run={RUN}&unit={UNIT}")
    graph = "document.querySelector('#pw-cache-lanes-graph .js-plotly-plot')"
    until(page, f"{graph} && {graph}.data && {graph}.data.length === 3")
    lanes = page.evaluate(f"{graph}.data.flatMap((t) => t.y)")
    assert "R ⋈ S" in lanes
    page = open_page(f"/matrix?run={RUN}&unit={UNIT}")
    expect(page.locator("#pw-cache-bids tbody tr").first).to_contain_text("R ⋈ S")
    expect(page.locator("#pw-join-views table")).to_have_count(4)


def test_a_run_without_caches_shows_what_takes_memory(open_page: OpenPage, site: Site) -> None:
    with_windows = StreamRun(Path(site.path), "trips").seconds(2)
    page = open_page("/memory?run=trips")
    takes = page.locator("#pw-takes")
    expect(takes).to_contain_text("Stores that synopses share")
    expect(takes).to_contain_text("Queues between operators")
    expect(page.locator("#pw-market")).to_be_hidden()
    with_windows.close()


POOL = {"endless": True, "asked": 20_480, "limit": None, "knob": {"low": 0, "high": None}}


def test_a_pool_without_limit_is_at_the_end_of_its_bar(ask: Ask) -> None:
    assert ask("pool_scale", "m.bytesText(m.room(pool, 0))", pool=POOL) == "no limit"
    assert ask("pool_scale", "m.keyed(pool, 'End', 4096)", pool=POOL) == 0
    assert ask("pool_scale", "m.keyed(pool, 'Home', 8192)", pool=POOL) == 4096
    assert ask("pool_scale", "m.keyed(pool, 'ArrowLeft', Infinity)", pool=POOL) == 20_480


@pytest.mark.parametrize("seed", range(8))
def test_blocks_from_the_left_are_what_the_rule_of_the_engine_grants(ask: Ask, seed: int) -> None:
    """By the division of the engine, the second way: what is saved, the price, who is next."""
    draw = random.Random(seed)
    wants = {
        part: [
            Tier(draw.randint(1, 3), gain)
            for gain in sorted(draw.sample(range(1, 99), draw.randint(1, 4)), reverse=True)
        ]
        for part in "abc"
    }
    market = Market(draw.randint(0, 20) * 4096, {"c": Consumer("u", Bid(wants, 30, 1, 1.0))})
    given = market.granted()["c"]
    consumer = market.consumers["c"]
    bids = [
        {
            "id": part,
            "tiers": [[tier.n_pages * 4096, consumer.gain(tier)] for tier in tiers],
            "granted": given[part],
        }
        for part, tiers in wants.items()
    ]
    blocks = "m.blocksOf(bids, (bid) => bid.granted)"
    saved = ask("pool_scale", f"m.savedBy({blocks})", bids=bids)
    assert saved == pytest.approx(market.saved().get("", 0.0))
    placed = ask("pool_scale", f"{blocks}.map(({{at, bytes, lit}}) => [at, bytes, lit])", bids=bids)
    for at, n_bytes, lit in placed:
        assert lit == min(n_bytes, max(0, (market.limit_bytes or 0) - at))
    lowest = ask("pool_scale", f"{blocks}.filter((b) => b.lit).map((b) => b.gain)", bids=bids)
    following = ask("pool_scale", f"m.nextServed({blocks})", bids=bids)
    assert (following is None) == (sum(given.values()) == sum(n for _, n, _ in placed))
    told = ask("pool_scale", f"m.priceOf({blocks})", bids=bids)
    assert told == (None if market.price() is None else pytest.approx(market.price()))
    if following is not None and lowest:
        assert market.price() == pytest.approx(min(lowest))
        assert following["gain"] <= min(lowest)


def test_names_in_a_knob_come_and_go(ask: Ask) -> None:
    told = 'm.chosen(value, own, "; ")'
    assert ask("knob_names", told, value="A; B", own=["C of q", "C"]) == "A; B; C of q"
    assert ask("knob_names", told, value="A; B", own=["A of q", "A"]) == "B"
    assert ask("knob_names", told, value="", own=["A", "A"]) == "A"
