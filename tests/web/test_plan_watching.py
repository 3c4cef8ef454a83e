"""Watching a plan: what a part hangs on, folding, heat over time, queues against their limit, ways
past others, what would change the plan next, how even the work is, and what takes memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import pytest
from playwright.sync_api import expect

from dashboard.views.load import build_load, words_of
from tests.unit.asc.stream import tuples
from tests.web.axe import violations
from tests.web.conftest import Ask, OpenPage, until
from tests.web.engine_run import SelectionRun
from tests.web.site import Site
from tests.web.stream_run import UNIT, StreamRun

pytestmark = pytest.mark.web
DAG, HYBRID, AGAIN, SKEWED = "watched-dag", "watched-hybrid", "watched-again", "watched-skewed"


@pytest.fixture(scope="module", autouse=True)
def runs(site: Site) -> Iterator[tuple[StreamRun, SelectionRun]]:
    """A network whose queues have a limit, and a selection under a hybrid plan."""
    network = StreamRun(site.path, DAG, queue_capacity=40, shards=2).seconds(3)
    hybrid = SelectionRun(site.path, HYBRID).drift()
    yield network, hybrid
    network.close()
    hybrid.close()


class TestFolding:
    """modules/graph_fold.js."""

    LINES: ClassVar = ("sa", "sb", "aj", "bj", "bc", "jo", "cp")
    PLAN: ClassVar = {
        "hash": "x",
        "nodes": [{"id": id, "role": "output" if id in "op" else "operator"} for id in "sabcjop"],
        "edges": [{"source": one[0], "target": one[1], "queue": one} for one in LINES],
    }

    def test_what_leads_nowhere_else_folds(self, ask: Ask) -> None:
        plan = self.PLAN
        assert ask("graph_fold", "[...m.coneOf(plan, 'o')].sort()", plan=plan) == ["a", "j"]
        assert ask("graph_fold", "[...m.coneOf(plan, 'p')]", plan=plan) == ["c"]
        folded = "m.folded(plan, new Map([['o', m.coneOf(plan, 'o')]]))"
        held = ask("graph_fold", f"{folded}.nodes.map((n) => [n.id, n.holds || 0])", plan=plan)
        assert held == [["s", 0], ["b", 0], ["c", 0], ["o", 2], ["p", 0]]
        edges = ask("graph_fold", f"{folded}.edges.map((e) => e.source + e.target)", plan=plan)
        assert sorted(edges) == ["bc", "bo", "cp", "sb", "so"]
        assert ask("graph_fold", "m.showing(new Map([['o', new Set(['j'])]]), 'j').size") == 0

    @pytest.mark.parametrize("n", [10, 81, 400])
    def test_a_long_chain_is_shown_up_to_a_number_of_parts(self, ask: Ask, n: int) -> None:
        nodes = [{"id": f"n{i}", "role": "step"} for i in range(n)]
        edges = [{"source": f"n{i}", "target": f"n{i + 1}", "queue": f"q{i}"} for i in range(n - 1)]
        plan = {"hash": "x", "nodes": nodes, "edges": edges}
        told = "((f) => [f.nodes.length, f.edges.length, f.nodes.at(-1).id])"
        given = f"{told}(m.folded(plan, m.guarded(plan, plan.nodes)))"
        shown, lines, last = ask("graph_fold", given, plan=plan)
        assert shown == min(n, 80)
        assert lines == shown - 1
        assert last == f"n{n - 1}"

    def test_both_ways_from_a_part(self, ask: Ask) -> None:
        sides = "((s) => [[...s.up].sort(), [...s.down].sort()])(m.traced(plan, looked))"
        assert ask("graph_sides", sides, plan=self.PLAN, looked="j") == [["a", "b", "s"], ["o"]]
        assert ask("graph_sides", sides, plan=self.PLAN, looked="bc") == [["b", "s"], ["c", "p"]]


class TestHeat:
    """Heat in modules/graph_values.js."""

    def test_an_address_is_a_heat_and_back(self, ask: Ask) -> None:
        named = ask("graph_values", "m.heatNamed('drops.ewma.absolute')")
        assert named == {"name": "drops", "over": "ewma", "scale": "absolute"}
        assert ask("graph_values", "m.heatText(heat)", heat=named) == "drops.ewma.absolute"
        assert ask("graph_values", "m.heatText(m.heatNamed('nonsense'))") is None
        assert ask("graph_values", "m.heatText(m.heatNamed('max'))") == "max"

    def test_spreads_go_on_as_the_server_began_them(self, ask: Ask) -> None:
        facts = {"cards": {"a": {"drop": 0.5, "drops": None, "visits": 0.1}}}
        spreads = {"a": {"drop": [0.2, 0.4], "drops": [0.3, 0.3]}}
        found = ask("graph_values", "m.spreadOn(spreads, facts)", facts=facts, spreads=spreads)
        assert found["a"]["drop"] == pytest.approx([0.26, 0.5])
        assert found["a"]["drops"] == [0.3, 0.3]
        assert found["a"]["visits"] == [0.1, 0.1]
        over = "m.overTime(facts, spreads, 'max').cards.a.over.drop"
        assert ask("graph_values", over, facts=facts, spreads=spreads) == 0.4

    def test_a_queue_is_filled_against_its_limit_by_the_most_that_waited(self, ask: Ask) -> None:
        facts = {"n": 1000, "limits": {"q": 50}}
        told = {"size": 10, "queue_peak_tuples": 40}
        fill = ask("graph_values", "m.queueFill(told, facts, 'q')", told=told, facts=facts)
        assert fill == {"size": 10, "fill": 0.8, "limit": 50}
        other = ask("graph_values", "m.queueFill(told, facts, 'r').fill", told=told, facts=facts)
        assert other == 0.01


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_what_a_part_hangs_on_is_lit_and_folds_by_keyboard(
    open_page: OpenPage, scheme: str
) -> None:
    page = open_page(f"/plan?run={DAG}&unit={UNIT}&at=2", scheme=scheme)
    output = page.locator(".pw-card", has_text="wet").first
    output.focus()
    until(page, "document.querySelectorAll('.pw-card[data-trace=up]').length > 2")
    assert page.locator(".pw-card[data-trace=off]").count() > 2
    assert page.locator(".pw-card[data-trace=here]").count() == 1
    assert page.locator(".pw-edge[data-trace=up]").count() > 2
    before = page.locator(".pw-card").count()
    page.keyboard.press("Enter")
    expect(page.locator(".pw-graph-tools")).to_contain_text(
        re.compile(r"wet: \d+ parts lead to it")
    )
    page.keyboard.press("-")
    mark = page.locator(".pw-fold")
    expect(mark).to_have_count(1)
    n = int(mark.get_attribute("data-holds") or 0)
    expect(page.locator(".pw-card")).to_have_count(before - n)
    tools = page.locator(".pw-graph-tools")
    expect(tools).to_contain_text(f"{before - n} of {before} parts shown")
    assert violations(page, ".pw-graph-tools") == []
    page.locator(".pw-card", has_text="wet").first.focus()
    page.keyboard.press("+")
    expect(page.locator(".pw-card")).to_have_count(before)


def test_a_search_opens_what_is_folded(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={DAG}&unit={UNIT}&at=2")
    page.locator(".pw-card", has_text="wet").first.focus()
    page.keyboard.press("-")
    expect(page.locator(".pw-fold")).to_have_count(1)
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    expect(page.get_by_role("listbox")).to_contain_text("page")
    box.fill("Istream")
    expect(page.locator(".pw-found[aria-selected=true]")).to_contain_text("Istream")
    page.keyboard.press("Enter")
    expect(page.locator(".pw-selected")).to_have_count(1)
    expect(page.locator(".pw-fold")).to_have_count(0)


def test_queues_with_a_limit_say_how_full_they_were(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={DAG}&unit={UNIT}&at=2")
    full = page.locator(".pw-queue-full").first
    expect(full).to_be_visible()
    assert float(full.get_attribute("data-fill") or 0) >= 0.9
    expect(full).to_have_attribute("aria-label", re.compile(r"of 40 it may hold waiting at once"))
    expect(page.locator(".pw-legend")).to_contain_text("queue, filled against its limit")


def test_operators_are_coloured_by_their_share_of_the_time(
    open_page: OpenPage, runs: tuple[StreamRun, SelectionRun]
) -> None:
    reader = runs[0].reader
    values = reader.values(DAG, 2)
    times: dict[str, float] = {}
    for id, own in values.items():
        price, reached = own.get("processing_us"), own.get("reached_tuples")
        if id.startswith(f"{UNIT}/") and price is not None and reached is not None:
            times[id] = price * reached
    shares = {id: time / sum(times.values()) for id, time in times.items()}
    page = open_page(f"/plan?run={DAG}&unit={UNIT}&at=2")
    pressed = page.locator(".pw-legend [aria-pressed=true]").first
    expect(pressed).to_have_text("share of the work")
    heats = dict(
        page.locator(".pw-card").evaluate_all("all => all.map(c => [c.dataset.id, c.dataset.heat])")
    )
    coloured = {id: int(step) for id, step in heats.items() if step != "none"}
    assert coloured.keys() == shares.keys()
    ramp = page.locator(".pw-ramp").inner_text()
    top = float(re.findall(r"([\d.]+)\s*%", ramp)[-1]) / 100
    assert max(shares.values()) <= top * 1.001
    assert coloured == {id: min(4, int(5 * share / top)) for id, share in shares.items()}


def test_who_fills_a_full_queue_is_blocked_by_who_reads_it(
    open_page: OpenPage, runs: tuple[StreamRun, SelectionRun]
) -> None:
    reader = runs[0].reader
    values, plan = reader.values(DAG, 2), reader.plan_at(DAG, 2, UNIT)
    assert plan is not None
    limits = {
        entity.id: entity.properties.get("capacity_tuples") for entity in reader.entities(DAG)
    }
    full, known = set(), set()
    for edge in plan.graph["edges"]:
        queue = edge.get("queue") or ""
        peak, limit = values.get(queue, {}).get("queue_peak_tuples"), limits.get(queue)
        if peak is not None and limit:
            known |= {edge["source"], edge["target"]}
            if peak >= 0.9 * limit:
                full.add((edge["source"], edge["target"]))
    assert full
    wanted = {id: "busy" for _, id in full} | {id: "blocked" for id, _ in full}
    page = open_page(f"/plan?run={DAG}&unit={UNIT}&at=2")
    told = "all => all.map(c => [c.dataset.id, c.dataset.verdict])"
    found = dict(page.locator(".pw-card[data-verdict]").evaluate_all(told))
    assert found == {id: wanted.get(id, "ok") for id in known}
    names = {node["id"]: node["name"] for node in plan.graph["nodes"]}
    source, target = sorted(full)[0]
    label = page.locator(f".pw-card[data-id='{source}']").get_attribute("aria-label") or ""
    assert names[target] in label.partition("blocked by ")[2]


def test_a_search_lights_up_all_it_finds(open_page: OpenPage) -> None:
    page = open_page(f"/plan?run={DAG}&unit={UNIT}&at=2")
    windows = page.locator(".pw-card", has_text="[Range")
    n = windows.count()
    assert n > 2
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    expect(page.get_by_role("listbox")).to_contain_text("page")
    box.fill("[range window")
    lit = page.locator(".pw-card[data-hit]")
    expect(lit).to_have_count(n)
    page.keyboard.press("Enter")
    expect(page.locator(".pw-selected")).to_have_count(1)
    expect(lit).to_have_count(n)
    page.keyboard.press("Escape")
    expect(lit).to_have_count(0)


def test_heat_over_time_is_in_the_address_and_on_the_cards(open_page: OpenPage, site: Site) -> None:
    page = open_page("/plan?run=r1&at=100&heat=max")
    plan = site.reader.plan_at("r1", 100)
    assert plan is not None
    first = plan.order[0]
    series = site.reader.series("r1", first, "drop_prob", since_batch=77, until_batch=100)
    assert series is not None
    card = page.locator(f".pw-card[data-id='{first}']")
    expect(card).to_have_attribute(
        "aria-label", re.compile(f"{100 * max(series.value):.1f}\u2009%")
    )
    expect(card).to_contain_text("max dropped")
    legend = page.locator(".pw-legend")
    legend.get_by_role("button", name="smoothed").click()
    expect(page).to_have_url(re.compile("heat=ewma"))
    legend.get_by_role("button", name="of 100 %").click()
    expect(page).to_have_url(re.compile(r"heat=ewma\.absolute"))
    expect(legend.locator(".pw-ramp")).to_contain_text("100 %")
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile(r"heat=drops\.ewma\.absolute"))
    legend.get_by_role("button", name="now").click()
    legend.get_by_role("button", name="of the largest").click()
    legend.get_by_role("button", name="dropped of what comes").click()
    until(page, "!location.search.includes('heat')")


def test_a_hybrid_plan_shows_where_regions_leave_its_order(open_page: OpenPage, site: Site) -> None:
    plan = next(one for one in reversed(site.reader.plans(HYBRID)) if one.kind == "hybrid")
    ways = {(source, target) for source, _, target, *_ in plan.evidence["arrows"]}
    page = open_page(f"/plan?run={HYBRID}&at={plan.batch}")
    skips = page.locator(".pw-leap")
    expect(skips).to_have_count(len(ways))
    expect(skips.first).to_have_attribute("aria-label", re.compile("sampled tuples; open on"))
    skips.first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/matrix\?run={HYBRID}"))


def test_what_would_change_the_plan_is_told_beside_it_and_in_the_inspector(
    open_page: OpenPage, site: Site
) -> None:
    kept = site.reader.decisions(HYBRID, verdicts=("below_threshold",), limit=1)[0].decision
    pair = next(one for one in kept.detail["headroom"] if one["entity"])
    node = site.reader.plan_at(HYBRID, kept.batch)
    assert node is not None
    own = next(n["id"] for n in node.graph["nodes"] if n["name"] == pair["entity"])
    page = open_page(f"/plan?run={HYBRID}&at={kept.batch}&node={own}")
    panel = page.locator("#pw-headroom")
    expect(panel).to_contain_text("The order is built anew when visits per tuple come to")
    expect(panel).to_contain_text(pair["words"])
    expect(page.locator("#plan-note")).to_contain_text("Next: ")
    expect(page.locator(".pw-inspector")).to_contain_text(pair["words"])
    panel.get_by_role("button", name="Table").click()
    expect(panel.locator("table")).to_contain_text(pair["words"])
    panel.get_by_role("link", name=f"#{kept.seq}").first.click()
    expect(page).to_have_url(re.compile(rf"/decisions\?.*node={kept.seq}"))


def test_evaluations_that_kept_the_plan_stand_nearest_first(open_page: OpenPage) -> None:
    page = open_page(f"/decisions?run={HYBRID}")
    rows = page.locator("#pw-why-not tbody tr")
    expect(rows.first).to_be_visible()
    near = [
        float(text.split("\u2009")[0])
        for text in page.locator("#pw-why-not tbody tr > :first-child").all_inner_texts()
    ]
    assert near == sorted(near, reverse=True)
    expect(rows.first).to_contain_text("visits/tuple")


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_shards_stand_beside_each_other_with_their_share(
    open_page: OpenPage, runs: tuple[StreamRun, SelectionRun], scheme: str
) -> None:
    (load,) = (
        runs[0].reader.matrix(DAG, key.name, 2, UNIT)
        for key in runs[0].reader.matrix_keys(DAG, UNIT)
        if key.kind == "load"
    )
    assert load is not None
    busy = [row[load.matrix.columns.index("busy_us")] for row in load.matrix.values]
    page = open_page(f"/plan?run={DAG}&unit={UNIT}&at=2", scheme=scheme, width=1280, height=720)
    panel = page.locator("#pw-load")
    expect(panel).to_contain_text(f"{100 * busy[0] / sum(busy):.1f}\u2009% of the processing time")
    expect(panel.locator(".pw-takes dt")).to_have_text(["shard 0", "shard 1"])
    assert violations(page, "#pw-load") == []
    panel.get_by_role("button", name="Table").click()
    expect(panel.locator("tbody tr")).to_have_count(2)


def test_a_key_that_most_tuples_have_is_told_as_skew(open_page: OpenPage, site: Site) -> None:
    run = StreamRun(site.path, SKEWED, shards=2)
    rides = [{"t": t, "zone": 1, "fare": 9} for t in range(400)]
    weather = [{"t": t, "zone": t % 4, "rain": 1} for t in range(0, 400, 5)]
    run.batch({"Trips": rides, "Weather": weather})
    run.close()
    loads = [
        site.reader.matrix(SKEWED, key.name, 0, UNIT)
        for key in site.reader.matrix_keys(SKEWED, UNIT)
        if key.kind == "load"
    ]
    (load,) = loads
    assert load is not None
    view = build_load(load, UNIT)
    largest = max(view.parts, key=lambda one: one.values["tuples"])
    assert largest.values["tuples"] > 1.2 * sum(one.values["tuples"] for one in view.parts) / 2
    panel = open_page(f"/plan?run={SKEWED}&unit={UNIT}").locator("#pw-load")
    expect(panel.locator(".pw-load-head")).to_contain_text(words_of(view))


def test_an_input_that_begins_anew_is_marked_on_strip_and_timeline(
    open_page: OpenPage, site: Site
) -> None:
    run = SelectionRun(site.path, AGAIN).run(tuples(500, 3))
    rows = [{"a": 1, "b": 2, "c": 3, "d": 4}] * 50
    run.batch(rows, rounds={"S": 1})
    page = open_page(f"/timeline?run={AGAIN}")
    mark = page.locator("#pw-strip .pw-mark[data-kind='loop']")
    expect(mark).to_have_count(1)
    expect(mark).to_contain_text("\u21bb")
    expect(mark).to_have_attribute("aria-label", re.compile("stream S begins anew"))
    plot = page.locator("#pw-timeline-graph .js-plotly-plot")
    expect(plot).to_be_visible(timeout=40_000)
    until(page, ANEW, 40)
    mark.click()
    expect(page).to_have_url(re.compile(rf"at={run.batch_id - 1}\b"))
    run.close()


ANEW = """(document.querySelector('#pw-timeline-graph .js-plotly-plot').data || [])
.some(trace => trace.meta && trace.meta.lane === 'query'
 && trace.text.includes('\u21bb')
 && trace.customdata.some(own => own[1].includes('begins anew')))"""


def test_memory_stands_against_limits_that_can_be_turned_there(open_page: OpenPage) -> None:
    page = open_page(f"/memory?run={HYBRID}")
    takes = page.locator("#pw-takes")
    expect(takes).to_contain_text("Bitmaps of constructs")
    expect(takes).to_contain_text("of 1\u2009GiB")
    expect(takes).to_contain_text("of 500 tuples (100\u2009%)")
    expect(takes).to_contain_text("at its limit: queries that need more are refused")
    expect(takes).to_contain_text("at its limit: the oldest go as others come")
    expect(takes).to_contain_text("Introspection store")
    expect(takes.get_by_role("region", name="Knob bitmap_memory")).to_be_visible()
    page = open_page(f"/memory?run={DAG}")
    takes = page.locator("#pw-takes")
    expect(takes).to_contain_text("Limits · STREAM of network")
    expect(takes.get_by_role("region", name="Knob state_limit_bytes").first).to_be_visible()
