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


#: In the browser: the left end of what is seen of the layout.
_LEFT = "document.querySelector('.pw-graph-frame svg').getAttribute('viewBox').split(' ')[0]"


def view_of(page: Page) -> dict[str, float]:
    """What of the plan is seen: the upper left of the layout, how much of it, and its scale."""
    svg = page.locator(".pw-graph-frame svg")
    x, y, w, h = map(float, str(svg.get_attribute("viewBox")).split())
    return {"x": x, "y": y, "w": w, "h": h, "scale": float(str(svg.get_attribute("data-scale")))}


def nearer(page: Page) -> None:
    """The plan as cards."""
    zoom = page.get_by_role("group", name="Zoom").get_by_role("button", name="Zoom in")
    for _ in range(5):
        zoom.click()
    expect(page.locator(".pw-graph-frame")).to_have_attribute("data-level", "card")


def middle(page: Page, selector: str) -> tuple[float, float]:
    left, top, right, bottom = boxes(page, selector)[0]
    return (left + right) / 2, (top + bottom) / 2


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (390, 844)])
def test_the_whole_plan_is_in_sight_when_it_opens(
    open_page: OpenPage, run: StreamRun, width: int, height: int
) -> None:
    page = shown(open_page, run, SHARING - 1, width=width, height=height)
    frame = page.get_by_role("region", name="Plan", exact=True)
    expect(frame).to_have_attribute("data-whole-plan", "1")
    expect(frame).to_have_attribute("data-level", "dot" if width < 400 else "chip")
    left, top, right, bottom = boxes(page, ".pw-graph-frame")[0]
    assert bottom - top <= 0.6 * height
    for card in boxes(page, ".pw-card-box"):
        assert left - 1 <= card[0] <= card[2] <= right + 1
        assert top - 1 <= card[1] <= card[3] <= bottom + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_wheel_zooms_at_the_pointer_from_chips_to_cards_and_back(
    open_page: OpenPage, run: StreamRun
) -> None:
    page = shown(open_page, run, SHARING - 1)
    frame = page.locator(".pw-graph-frame")
    join = next(node for node in graph_at(run, SHARING - 1).nodes if node.role == "join")
    place = f".pw-card[data-id='{join.id}'] .pw-card-box"
    at = middle(page, place)
    page.mouse.move(*at)
    for _ in range(8):
        page.mouse.wheel(0, -60)
    expect(frame).to_have_attribute("data-level", "card")
    expect(frame).to_have_attribute("data-whole-plan", "0")
    now = middle(page, place)
    assert abs(now[0] - at[0]) < 60
    assert abs(now[1] - at[1]) < 60
    expect(page.locator(f".pw-card[data-id='{join.id}']")).to_contain_text("tuples")
    page.keyboard.press("f")
    expect(frame).to_have_attribute("data-whole-plan", "1")
    expect(frame).to_have_attribute("data-level", "chip")
    assert middle(page, place) == pytest.approx(at, abs=1)


def test_a_wheel_that_shows_no_more_scrolls_the_page(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    before, at = view_of(page), middle(page, ".pw-graph-frame")
    page.mouse.move(*at)
    page.mouse.wheel(0, 200)
    until(page, "scrollY > 0")
    assert view_of(page) == before


def test_a_drag_moves_a_zoomed_plan_and_pins_nothing(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    zoom = page.get_by_role("group", name="Zoom")
    expect(zoom.get_by_role("button", name="Zoom out")).to_be_disabled()
    nearer(page)
    frame = page.locator(".pw-graph-frame")
    before, (x, y) = view_of(page), middle(page, ".pw-graph-frame")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 90, y, steps=6)
    page.mouse.up()
    until(page, f"Number({_LEFT}) >= {before['x'] + 89 / before['scale']}")
    after = view_of(page)
    assert after["x"] == pytest.approx(before["x"] + 90 / before["scale"], abs=1)
    assert "node=" not in page.url
    zoom.get_by_role("button", name="All of it").click()
    expect(frame).to_have_attribute("data-whole-plan", "1")


def test_a_click_on_the_small_map_goes_there(open_page: OpenPage, run: StreamRun) -> None:
    page = shown(open_page, run, SHARING - 1)
    small = page.locator(".pw-graph-mini")
    expect(small).to_have_count(0)
    nearer(page)
    seen = small.locator(".pw-graph-mini-seen")
    left, top, right, bottom = boxes(page, ".pw-graph-mini")[0]
    page.mouse.click(left + 0.9 * (right - left), (top + bottom) / 2)
    until(page, f"Number({_LEFT}) > 0")
    view = view_of(page)
    drawn = float(str(small.get_attribute("viewBox")).split()[2])
    assert view["x"] + view["w"] / 2 == pytest.approx(0.9 * drawn, rel=0.02)
    assert float(str(seen.get_attribute("x"))) == pytest.approx(view["x"])
    page.keyboard.press("f")
    expect(small).to_have_count(0)


def test_the_keyboard_zooms_moves_and_brings_in_what_has_the_focus(
    open_page: OpenPage, run: StreamRun
) -> None:
    page = shown(open_page, run, SHARING - 1)
    frame, at = page.locator(".pw-graph-frame"), page.url
    frame.focus()
    for _ in range(4):
        page.keyboard.press("+")
    expect(frame).to_have_attribute("data-whole-plan", "0")
    before = view_of(page)
    page.keyboard.press("ArrowRight")
    until(page, f"Number({_LEFT}) > {before['x']}")
    assert page.url == at
    last = page.locator(".pw-card").last
    last.focus()
    expect(last.locator(".pw-card-box")).to_be_in_viewport()
    left, top, right, bottom = boxes(page, ".pw-graph-frame")[0]
    box = last.locator(".pw-card-box").bounding_box()
    assert box is not None
    assert left - 1 <= box["x"] <= box["x"] + box["width"] <= right + 1
    assert top - 1 <= box["y"] <= box["y"] + box["height"] <= bottom + 1


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


def test_what_is_in_sight_stays_when_the_next_plan_comes(
    open_page: OpenPage, run: StreamRun
) -> None:
    page = shown(open_page, run, SHARING - 1)
    nearer(page)
    before = view_of(page)
    version = page.locator("#plan-graph").get_attribute("data-version")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#plan-graph")).not_to_have_attribute("data-version", str(version))
    expect(page.locator(".pw-graph-frame")).to_have_attribute("data-level", "card")
    after = view_of(page)
    assert after["scale"] == before["scale"]
    assert after["x"] == pytest.approx(before["x"], abs=before["w"] / 4)


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
    nearer(page)
    for stub in stubs:
        line = page.locator(f"[data-edge='{store.id}>{stub}'] path")
        assert line.get_attribute("marker-start") == "url(#pw-pointer)"
    saved = run.reader.values(RUN, SHARING - 1)[store.id]["saved_bytes"]
    assert saved is not None
    assert saved > 0
    card = page.locator(f".pw-card[data-id='{store.id}']")
    expect(card).to_have_attribute("aria-label", re.compile("KiB · saves"))
    page.keyboard.press("f")
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
    for words in ("queue: hands tuples on", "synopsis: what an operator", "window: newest tuples"):
        expect(legend).to_contain_text(words)
    assert {node.role for node in graph_at(run, SHARING - 1).nodes} & set(NO_OPERATORS)
