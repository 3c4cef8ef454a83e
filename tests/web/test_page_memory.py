"""The market of a join's caches: its pool dragged, caches pinned and forbidden, and replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.axe import violations
from tests.web.conftest import Ask, OpenPage, until
from tests.web.joins_run import UNIT, JoinsRun
from tests.web.site import Site, serve
from tests.web.stream_run import StreamRun

pytestmark = pytest.mark.web
RUN = "keys"
VIEWS = [("dark", 1440, 900), ("light", 1280, 720)]
KB = 1024


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store with the run alone."""
    with serve(tmp_path_factory.mktemp("memory"), empty=True) as served:
        yield served


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
    """The bid of a cache."""
    return page.locator(".pw-bid").filter(has=page.get_by_text(name, exact=True))


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
def test_the_market_shows_what_caches_bid_and_have(
    open_page: OpenPage, run: JoinsRun, scheme: str, width: int, height: int
) -> None:
    page = open_page(f"/memory?run={RUN}", scheme=scheme, width=width, height=height)
    expect(page.locator(".pw-market-head h3").first).to_contain_text("Caches save")
    cache = values_of(run, "cache", "R ⋈ S")
    row = bid_of(page, "R ⋈ S")
    expect(row).to_have_attribute("data-state", "used")
    expect(row).to_have_attribute("data-granted", str(int(cache["granted_bytes"])))
    expect(row).to_contain_text(f"{int(cache['cache_entries'])} entries")
    bids = [b for b in page.evaluate(BIDS) if b is not None]
    assert bids == sorted(bids, reverse=True)
    edge = page.get_by_role("slider", name="Pool of the join of four")
    expect(edge).to_have_attribute("aria-valuenow", str(64 * KB))
    takes = page.locator("#pw-takes")
    expect(takes).to_contain_text("Pool of caches")
    expect(takes).to_contain_text("of 64\u2009KiB")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


#: Bids of the caches in use, from top to bottom.
BIDS = """[...document.querySelectorAll(".pw-bid-used .pw-bid-price")]
.map((one) => parseFloat(one.textContent.replace("−", "-")))"""


def test_the_edge_is_dragged_previewed_and_applied_and_grants_follow(
    open_page: OpenPage, run: JoinsRun
) -> None:
    page = open_page(f"/memory?run={RUN}")
    edge = page.get_by_role("slider", name="Pool of the join of four")
    expect(edge).to_have_attribute("aria-valuenow", str(64 * KB))
    box = edge.bounding_box()
    bar = page.locator(".pw-pool").first.bounding_box()
    assert box is not None
    assert bar is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(bar["x"] + 3, box["y"] + 20, steps=5)
    page.mouse.up()
    draft = page.locator(".pw-market-draft")
    expect(draft).to_contain_text("Draft: pool 64\u2009KiB → 0\u2009B.")
    expect(draft).to_contain_text("R ⋈ S goes, with")
    expect(draft).to_contain_text("estimated work +")
    expect(page.locator(".pw-pool-going").first).to_be_visible()
    edge.focus()
    page.keyboard.press("ArrowRight")
    expect(draft).to_contain_text("→ 4\u2009KiB.")
    assert run.loop.settings.scopes[UNIT].whole("pool_bytes") == 64 * KB  # a draft is no request
    draft.get_by_role("button", name="Apply").click()
    until_shown(page, run, "document.querySelector('.pw-market').dataset.pool === '4096'")
    expect(draft).to_have_count(0)
    run.ticks(1)
    assert values_of(run, "pool", "Pool of a and b and c")["granted_bytes"] <= 4 * KB
    (last, *_) = run.reader.commands(RUN)
    assert (last.payload["knob"], last.payload["value"], last.state) == (
        "pool_bytes",
        4096,
        "applied",
    )
    expect(page.locator(".pw-market-effect")).to_contain_text("64\u2009KiB → 4\u2009KiB")
    granted = (
        "[...document.querySelectorAll('.pw-bid-used')].reduce((s, b) => s + +b.dataset.granted, 0)"
    )
    until_shown(page, run, f"{granted} <= 4096")


def test_the_pool_of_all_joins_is_turned_and_grants_follow(
    open_page: OpenPage, run: JoinsRun
) -> None:
    page = open_page(f"/memory?run={RUN}")
    edge = page.get_by_role("slider", name="Pool of the run")
    expect(edge).to_have_attribute("aria-valuetext", "no limit")
    edge.focus()
    page.keyboard.press("Home")
    draft = page.locator(".pw-market-draft")
    expect(draft).to_contain_text("Draft: pool no limit → 4\u2009KiB.")
    draft.get_by_role("button", name="Apply").click()
    until_shown(
        page, run, "document.querySelector('.pw-market[data-join=\"\"]').dataset.pool === '4096'"
    )
    assert 0 < values_of(run, "run pool", "Pool of the run")["granted_bytes"] <= 4 * KB
    assert values_of(run, "pool", "Pool of a and b and c")["granted_bytes"] <= 4 * KB
    edge.focus()
    page.keyboard.press("End")
    expect(draft).to_contain_text("4\u2009KiB → no limit.")


def test_escape_leaves_and_discard_forgets_a_draft(open_page: OpenPage, run: JoinsRun) -> None:
    page = open_page(f"/memory?run={RUN}")
    edge = page.get_by_role("slider", name="Pool of the join of four")
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


def test_replay_shows_the_market_of_its_moment(open_page: OpenPage, run: JoinsRun) -> None:
    page = open_page(f"/memory?run={RUN}&at=2")
    pool = values_of(run, "pool", "Pool of a and b and c", 2)
    market = page.locator(".pw-market").first
    expect(market).to_have_attribute("data-pool", str(int(pool["pool_bytes"])))
    cache = values_of(run, "cache", "R ⋈ S", 2)
    row = bid_of(page, "R ⋈ S")
    expect(row).to_have_attribute("data-granted", str(int(cache["granted_bytes"])))
    edge = page.get_by_role("slider", name="Pool of the join of four")
    expect(edge).to_have_attribute("aria-disabled", "true")
    edge.focus()
    page.keyboard.press("Home")
    expect(page.locator(".pw-market-draft")).to_have_count(0)


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
    expect(page.locator(".pw-market")).to_have_count(0)
    with_windows.close()


CACHES = [
    {"id": "a", "short": "A", "state": "used", "choice": "", "wanted": 8192, "bid": 2.0},
    {"id": "b", "short": "B", "state": "used", "choice": "", "wanted": 8192, "bid": 1.0},
    {"id": "c", "short": "C", "state": "profiled", "choice": "", "wanted": 4096, "bid": 5.0},
]
for one in CACHES:
    one |= {"benefit": one["bid"], "upkeep": 0.0}


def test_a_pool_is_served_from_the_highest_bid_down(ask: Ask) -> None:
    given = "Object.fromEntries(m.served(bids, pool))"
    assert ask("market_rule", given, bids=CACHES, pool=12_288) == {"a": 8192, "b": 4096}
    moves = ask("market_rule", "m.moved({bids}, 16384, 4096)", bids=CACHES)
    assert [(one["short"], one["to"]) for one in moves] == [("B", 0), ("A", 4096)]
    moves = ask("market_rule", "m.moved({bids}, 0, 16384)", bids=CACHES)
    assert [one["short"] for one in moves] == ["A", "B"]
    pinned = [CACHES[0], {**CACHES[1], "choice": "pinned"}]
    assert ask("market_rule", given, bids=pinned, pool=8192) == {"b": 8192, "a": 0}


def test_the_price_is_the_last_bid_served_and_work_falls_with_memory(ask: Ask) -> None:
    assert ask("market_rule", "m.price({bids}, 12288)", bids=CACHES) == 1.0
    assert ask("market_rule", "m.price({bids}, 16384)", bids=CACHES) is None
    market = {"plain_now": 10.0, "bids": CACHES}
    work = [
        ask("market_rule", "m.worked(market, pool)", market=market, pool=p)
        for p in (0, 8192, 16384)
    ]
    assert work == [10.0, 8.0, 7.0]


#: Two tiers of a miss-ratio curve: the first page saves most of what the cache saves.
CURVED = {**CACHES[0], "pool": "p", "granted": 8192, "tiers": [[4096, 3.0, 1.8], [4096, 0.3, 0.2]]}


def test_a_turn_is_previewed_along_the_miss_ratio_curve(ask: Ask) -> None:
    bids = [CURVED, {**CACHES[1], "pool": "q"}]
    given = "Object.fromEntries(m.served(bids, pool, caps))"
    assert ask("market_rule", given, bids=bids, pool=12_288, caps={}) == {"a": 4096, "b": 8192}
    capped = ask("market_rule", given, bids=bids, pool=16_384, caps={"q": 4096})
    assert capped == {"a": 8192, "b": 4096}
    work = [
        ask("market_rule", "m.worked({plain_now: 10, bids}, pool)", bids=[CURVED], pool=p)
        for p in (4096, 8192)
    ]
    assert work == pytest.approx([8.2, 8.0])


def test_a_pool_without_limit_is_at_the_end_of_its_bar(ask: Ask) -> None:
    market = {
        "limitless": True,
        "bids": CACHES,
        "bytes": None,
        "knobs": {"pool": {"low": 0, "high": None}},
    }
    assert ask("market_rule", "m.bytesText(m.room(market, 0))", market=market) == "no limit"
    assert ask("market_rule", "m.keyed(market, 'End', 4096)", market=market) == 0
    assert ask("market_rule", "m.keyed(market, 'Home', 8192)", market=market) == 4096
    assert ask("market_rule", "m.keyed(market, 'ArrowLeft', Infinity)", market=market) == 20_480


def test_names_in_a_knob_come_and_go(ask: Ask) -> None:
    told = 'm.chosen(value, own, "; ")'
    assert ask("knob_names", told, value="A; B", own=["C of q", "C"]) == "A; B; C of q"
    assert ask("knob_names", told, value="A; B", own=["A of q", "A"]) == "B"
    assert ask("knob_names", told, value="", own=["A", "A"]) == "A"
