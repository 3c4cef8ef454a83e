"""The plan graph of any shape: several sources, joins, shared stores, several outputs."""

from __future__ import annotations

import time
from itertools import combinations

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until
from tests.web.forged_dag import CHANGED, PARTS, READS, flows, record_dag
from tests.web.site import Site
from tests.web.test_accessibility import axe_source

pytestmark = pytest.mark.web
RUN = "dag"
VIEWS = [("dark", 1440, 900), ("light", 1440, 900), ("dark", 1280, 720), ("light", 1280, 720)]


@pytest.fixture(scope="module", autouse=True)
def dag(site: Site) -> None:
    """The forged run."""
    record_dag(site.writer, RUN, time.time() - 60)


def drawn(page: Page) -> Page:
    expect(page.locator(".pw-card")).to_have_count(len(PARTS))
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
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    path = f"/plan?run={RUN}&at={CHANGED - 1}"
    page = drawn(open_page(path, scheme=scheme, width=width, height=height))
    ids = page.eval_on_selector_all(".pw-card", "all => all.map(c => c.dataset.id)")
    assert sorted(ids) == sorted(part.id for part in PARTS)
    edges = page.eval_on_selector_all(".pw-edge", "all => all.map(e => e.dataset.edge)")
    pairs = [*flows(("asc:dep_delay", "asc:origin")), *READS]
    assert sorted(edges) == sorted(f"{a}>{z}" for a, z in pairs)
    assert all(ids.index(a) < ids.index(z) for a, z in pairs)
    assert page.locator(".pw-edge-state").count() == len(READS)
    cards, pills = boxes(page, ".pw-card-box"), boxes(page, ".pw-queue-box")
    assert len(pills) == len(pairs) - len(READS)
    assert all(apart(a, b) for a, b in combinations([*cards, *pills], 2))
    panel = page.locator(".pw-graph").bounding_box()
    assert panel is not None
    assert max(card[2] for card in cards) <= panel["x"] + panel["width"] + 1
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    smallest = page.eval_on_selector_all(
        ".pw-graph text, .pw-graph tspan",
        "all => Math.min(...all.map(t => parseFloat(getComputedStyle(t).fontSize)))",
    )
    assert smallest >= 11
    page.evaluate(axe_source())
    report = page.evaluate("axe.run('#plan-graph', {resultTypes: ['violations']})")
    assert [one["id"] for one in report["violations"]] == []


def test_texts_stay_inside_their_cards(open_page: OpenPage) -> None:
    page = drawn(open_page(f"/plan?run={RUN}", width=1280, height=720))
    outside = page.evaluate(
        "[...document.querySelectorAll('.pw-card')].flatMap(card => {"
        " const box = card.querySelector('.pw-card-box').getBoundingClientRect();"
        " return [...card.querySelectorAll('text')].filter(t => {"
        "  const r = t.getBoundingClientRect(); return r.right > box.right || r.left < box.left;"
        " }).map(t => t.textContent); })"
    )
    assert outside == []


def test_the_keyboard_reaches_every_card(open_page: OpenPage) -> None:
    page = drawn(open_page(f"/plan?run={RUN}"))
    page.locator(".pw-card").first.focus()
    reached = []
    for _ in PARTS:
        reached.append(page.evaluate("document.activeElement.dataset.id"))
        page.keyboard.press("Tab")
    assert sorted(reached) == sorted(part.id for part in PARTS)
    page.locator(".pw-card[data-id='op:join:three']").focus()
    tip = page.locator(".pw-tip")
    expect(tip).to_contain_text("⋈ origin, tailnum")
    expect(tip).to_contain_text("joins of Q3")
    page.keyboard.press("Enter")
    expect(page.locator("#plan-inspector [data-entity]")).to_have_attribute(
        "data-entity", "op:join:three"
    )


def test_a_new_plan_glides_and_its_lines_follow(open_page: OpenPage) -> None:
    page = drawn(open_page(f"/plan?run={RUN}&at={CHANGED - 1}"))
    line = "document.querySelector('[data-edge=\"{}>{}\"] path')"
    assert page.evaluate(f"!!{line.format('op:source:flights', 'asc:dep_delay')}")
    page.evaluate(
        "window.glides = []; new MutationObserver(() => glides.push("
        "document.querySelector('#plan-graph').dataset.gliding)).observe("
        "document.querySelector('#plan-graph'), {attributeFilter: ['data-gliding']})"
    )
    page.keyboard.press("Shift+ArrowRight")
    until(page, "glides.includes('1') && glides[glides.length - 1] === '0'")
    drawn(page)
    assert page.evaluate(f"!!{line.format('op:source:flights', 'asc:origin')}")
    assert not page.evaluate(f"!!{line.format('op:source:flights', 'asc:dep_delay')}")


def test_the_twin_lists_what_is_no_step(open_page: OpenPage) -> None:
    page = drawn(open_page(f"/plan?run={RUN}&at=20"))
    page.keyboard.press("t")
    operators = page.locator("#plan-steps").get_by_role("region", name="Other parts of the plan")
    listed = operators.locator("tbody tr")
    expect(listed).to_have_count(len(PARTS) - 2)
    expect(operators.get_by_role("row", name="Weather").first).to_be_visible()
    expect(operators).to_contain_text("shared store")
