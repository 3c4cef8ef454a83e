"""The plan graph of any shape: sources, joins, shared stores, several outputs, of a real run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from storage.vocabulary.graph import NO_OPERATORS, PlanGraph
from tests.web.axe import violations
from tests.web.conftest import OpenPage, until
from tests.web.site import Site
from tests.web.stream_run import TEXTS, UNIT, StreamRun

pytestmark = pytest.mark.web
RUN = "dag"
VIEWS = [("dark", 1440, 900), ("light", 1440, 900), ("dark", 1280, 720), ("light", 1280, 720)]
#: Batches with stores that are shared; after them each synopsis has its own.
SHARING = 4


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> Iterator[StreamRun]:
    """The run, sharing switched off at its end."""
    made = StreamRun(site.path, RUN).seconds(SHARING)
    made.ask("knob", {"knob": "sharing", "value": False, "scope": UNIT})
    made.seconds(2)
    yield made
    made.close()


def graph_at(run: StreamRun, batch: int) -> PlanGraph:
    plan = run.reader.plan_at(RUN, batch, UNIT)
    assert plan is not None
    return PlanGraph.from_json(plan.graph)


def behind(graph: PlanGraph, output: str) -> set[str]:
    """The node of an output with all that leads to it."""
    found = {node.id for node in graph.nodes if node.role == "output" and node.name == output}
    while more := {e.source for e in graph.edges if e.target in found} - found:
        found |= more
    return found


def shown(open_page: OpenPage, run: StreamRun, batch: int, **view: Any) -> Page:
    page = open_page(f"/plan?run={RUN}&unit={UNIT}&at={batch}", **view)
    expect(page.locator(".pw-card")).to_have_count(len(graph_at(run, batch).nodes))
    return settled(page)


def settled(page: Page) -> Page:
    until(page, "document.querySelector('#plan-graph').dataset.gliding === '0'")
    return page


def boxes(page: Page, selector: str) -> list[list[float]]:
    found: list[list[float]] = page.eval_on_selector_all(
        selector,
        "all => all.map(b => { const r = b.getBoundingClientRect();"
        " return [r.left, r.top, r.right, r.bottom]; })",
    )
    return found


def apart(a: list[float], b: list[float]) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_every_node_and_edge_is_drawn_and_none_covers_another(
    open_page: OpenPage, run: StreamRun, scheme: str, width: int, height: int
) -> None:
    page = shown(open_page, run, SHARING - 1, scheme=scheme, width=width, height=height)
    graph = graph_at(run, SHARING - 1)
    ids = page.eval_on_selector_all(".pw-card", "all => all.map(c => c.dataset.id)")
    assert sorted(ids) == sorted(node.id for node in graph.nodes)
    edges = page.eval_on_selector_all(".pw-edge", "all => all.map(e => e.dataset.edge)")
    assert sorted(edges) == sorted(f"{e.source}>{e.target}" for e in graph.edges)
    assert all(ids.index(e.source) < ids.index(e.target) for e in graph.edges)
    reads = [edge for edge in graph.edges if not edge.queue]
    assert page.locator(".pw-edge-state").count() == len(reads)
    cards, pills = boxes(page, ".pw-card-box"), boxes(page, ".pw-queue-box")
    assert len(pills) == len(graph.edges) - len(reads)
    assert all(apart(a, b) for a, b in combinations([*cards, *pills], 2))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    smallest = page.eval_on_selector_all(
        ".pw-graph text, .pw-graph tspan",
        "all => Math.min(...all.map(t => parseFloat(getComputedStyle(t).fontSize)))",
    )
    assert smallest >= 11
    assert violations(page) == []


def test_a_wide_plan_is_shown_whole_and_in_full_size(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1, width=1280, height=720)
    frame = page.get_by_role("region", name="Plan", exact=True)
    fits = "(node) => node.scrollWidth <= node.clientWidth + 1"
    assert frame.evaluate(fits)
    assert float(page.locator(".pw-graph svg[data-scale]").get_attribute("data-scale") or 1) < 1
    page.get_by_role("button", name="Full size").click()
    expect(page.locator(".pw-graph svg[data-scale='1']")).to_have_count(1)
    assert not frame.evaluate(fits)
    page.get_by_role("button", name="All in sight").click()
    expect(page.locator(".pw-graph svg[data-scale='1']")).to_have_count(0)
    assert frame.evaluate(fits)


def test_a_phone_shows_a_wide_plan_large_enough_to_read(
    open_page: OpenPage, run: StreamRun
) -> None:
    page = shown(open_page, run, SHARING - 1, width=390, height=844)
    expect(page.locator(".pw-graph svg[data-scale='1']")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="All in sight").click()
    expect(page.locator(".pw-graph svg[data-scale='1']")).to_have_count(0)


def test_texts_stay_inside_their_cards(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1, width=1280, height=720)
    outside = page.evaluate(
        "[...document.querySelectorAll('.pw-card')].flatMap(card => {"
        " const box = card.querySelector('.pw-card-box').getBoundingClientRect();"
        " return [...card.querySelectorAll('text')].filter(t => {"
        "  const r = t.getBoundingClientRect(); return r.right > box.right || r.left < box.left;"
        " }).map(t => t.textContent); })"
    )
    assert outside == []


def test_the_keyboard_reaches_every_card(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    nodes = graph_at(run, SHARING - 1).nodes
    page.locator(".pw-card").first.focus()
    reached = []
    for _ in nodes:
        reached.append(page.evaluate("document.activeElement.dataset.id"))
        page.keyboard.press("Tab")
    assert sorted(reached) == sorted(node.id for node in nodes)
    join = next(node for node in nodes if node.role == "join")
    page.locator(f".pw-card[data-id='{join.id}']").focus()
    expect(page.locator(".pw-tip")).to_contain_text(f"⋈ {join.name}")
    page.keyboard.press("Enter")
    expect(page.locator("#plan-inspector [data-entity]")).to_have_attribute("data-entity", join.id)


def test_a_new_plan_glides_and_its_lines_follow(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    store = next(node for node in graph_at(run, SHARING - 1).nodes if node.role == "store")
    assert page.locator(f".pw-card[data-id='{store.id}']").count() == 1
    page.evaluate(
        "window.glides = []; new MutationObserver(() => glides.push("
        "document.querySelector('#plan-graph').dataset.gliding)).observe("
        "document.querySelector('#plan-graph'), {attributeFilter: ['data-gliding']})"
    )
    page.keyboard.press("Shift+ArrowRight")
    until(page, "glides.includes('1') && glides[glides.length - 1] === '0'")
    expect(page.locator(f".pw-card[data-id='{store.id}']")).to_have_count(0)
    edges = page.eval_on_selector_all(".pw-edge", "all => all.map(e => e.dataset.edge)")
    after = graph_at(run, SHARING + 1)
    assert sorted(edges) == sorted(f"{e.source}>{e.target}" for e in after.edges)


def test_the_twin_lists_all_parts_and_queues(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    page.keyboard.press("t")
    parts = page.locator("#plan-steps").get_by_role("region", name="Other parts of the plan")
    graph = graph_at(run, SHARING - 1)
    expect(parts.locator("tbody tr")).to_have_count(len(graph.nodes))
    expect(parts).to_contain_text("shared store")
    queues = page.locator("#plan-steps").get_by_role("region", name="Queues")
    values = run.reader.values(RUN, SHARING - 1)
    told = [e for e in graph.edges if "queue_peak_tuples" in values.get(e.queue, {})]
    expect(queues.locator("tbody tr")).to_have_count(len(told))


def test_a_store_is_shared_by_stubs_that_point_at_it(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    graph = graph_at(run, SHARING - 1)
    store = next(node for node in graph.nodes if node.role == "store")
    stubs = [edge.target for edge in graph.edges if edge.source == store.id]
    assert len(stubs) > 1
    for stub in stubs:
        line = page.locator(f"[data-edge='{store.id}>{stub}'] path")
        assert line.get_attribute("marker-start") == "url(#pw-pointer)"
    saved = run.reader.values(RUN, SHARING - 1)[store.id]["saved_bytes"]
    assert saved is not None
    assert saved > 0
    card = page.locator(f".pw-card[data-id='{store.id}']")
    expect(card).to_have_attribute("aria-label", re.compile("KiB · saves"))
    card.click()
    inspector = page.locator("#plan-inspector")
    expect(inspector.get_by_role("row", name="Saved")).to_be_visible()
    readers = [e.target for e in graph.edges if e.source in stubs]
    for reader in readers:
        expect(inspector).to_contain_text(graph.node(reader).name)


def test_a_part_is_what_leads_to_one_output(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    chips = page.get_by_role("navigation", name="Outputs")
    assert chips.get_by_role("link").all_inner_texts()[1:] == sorted(
        name for name in TEXTS if name not in ("cheap", "waiting")
    )
    chips.get_by_role("link", name="zones").click()
    graph = graph_at(run, SHARING - 1)
    wanted = behind(graph, "zones")
    assert {"Trips", "[Rows 20]", "Distinct"} < {graph.node(id).name for id in wanted}
    cards = page.locator(".pw-card")
    expect(cards).to_have_count(len(wanted))
    assert set(cards.evaluate_all("all => all.map(c => c.dataset.id)")) == wanted
    assert "show=" in page.url
    page.reload()
    expect(cards).to_have_count(len(wanted))
    shared = page.locator(".pw-card", has=page.locator(".pw-card-shared"))
    others = [
        behind(graph, n.name) for n in graph.nodes if n.role == "output" and n.name != "zones"
    ]
    common = wanted & {id for one in others for id in one}
    expect(shared).to_have_count(sum(graph.node(id).role != "source" for id in common))
    page.get_by_role("navigation", name="Outputs").get_by_role("link", name="All of it").click()
    expect(cards).to_have_count(len(graph.nodes))


def test_a_queue_is_pinned_and_knobs_are_turned_beside_it(
    open_page: OpenPage, run: StreamRun
) -> None:
    page = open_page(f"/plan?run={RUN}&unit={UNIT}")
    expect(page.locator(".pw-card").first).to_be_visible()
    settled(page)
    join = next(node for node in graph_at(run, SHARING + 1).nodes if node.role == "join")
    pill = page.locator(f"[data-edge$='>{join.id}'] .pw-queue").first
    pill.focus()
    page.keyboard.press("Enter")
    inspector = page.locator("#plan-inspector")
    expect(inspector.get_by_role("row", name="Queue peak")).to_be_visible()
    expect(inspector.get_by_role("region", name="Knob capacity")).to_be_visible()
    expect(pill).to_have_attribute("aria-pressed", "true")


def test_the_legend_explains_every_sign_of_the_plan(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    legend = page.get_by_role("group", name="Legend")
    roles = {n.role for n in graph_at(run, SHARING - 1).nodes} - {"source", "output"}
    expect(legend.locator(".pw-legend-signs > span")).to_have_count(len(roles) + 1)
    for words in ("queue: what waits", "synopsis: what an operator", "window: newest tuples"):
        expect(legend).to_contain_text(words)
    assert {node.role for node in graph_at(run, SHARING - 1).nodes} & set(NO_OPERATORS)
