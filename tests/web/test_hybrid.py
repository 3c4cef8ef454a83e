"""The hybrid view on the Matrix page: micro-arrows of a real run, by mouse and keyboard; a tuple
followed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from backend.model.ids import unit_entity
from tests.web.axe import violations
from tests.web.conftest import OpenPage
from tests.web.engine_run import UNIT, SelectionRun
from tests.web.site import Site

pytestmark = pytest.mark.web


@pytest.fixture(scope="module", autouse=True)
def hybrid(site: Site) -> Iterator[SelectionRun]:
    """The run e1, made by the engine, under a hybrid plan."""
    run = SelectionRun(site.path, "e1").drift()
    assert run.unit.core.plan.arrows
    yield run
    run.close()


def shown(page: Page) -> Page:
    expect(page.locator(".pw-hybrid-scroll svg")).to_be_visible()
    return page


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_the_plan_is_drawn_and_a_tuple_followed(
    open_page: OpenPage, hybrid: SelectionRun, scheme: str, width: int, height: int
) -> None:
    page = shown(open_page("/matrix?run=e1", scheme=scheme, width=width, height=height))
    plan = hybrid.unit.core.plan
    expect(page.locator(".pw-hybrid-head")).to_have_count(len(plan.order))
    arrows = {f"{a.attribute}:{a.region}:{a.target}" for a in plan.arrows}
    drawn = page.locator(".pw-hybrid-arrow")
    expect(drawn).to_have_count(len(arrows))
    assert {one.get_attribute("data-arrow") for one in drawn.all()} == arrows
    box = page.locator("#pw-hybrid-box")
    expect(box.locator(f"[data-live='{unit_entity(UNIT)}|micro_ratio']")).to_contain_text("%")
    expect(box.locator(f"[data-live='{unit_entity(UNIT)}|relative_cost']")).to_contain_text(
        re.compile(r"\d")
    )
    page.get_by_role("group", name="Micro-arrows").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator(".pw-hybrid-words")
    expect(first).to_contain_text(re.compile(r"→ \w+: support \d+ sampled tuples, gain 0\.\d+"))
    chip = page.get_by_role("navigation", name="Sampled tuples to follow").get_by_role("link").first
    chip.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"node=\d+\.\d+"))
    steps = page.locator(".pw-hybrid-steps tbody tr")
    expect(steps.first).to_contain_text("first of the order")
    expect(page.locator(".pw-hybrid-step")).to_have_count(steps.count())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page, "#pw-page") == []
    box.get_by_role("button", name="Table").click()
    expect(page.locator("#pw-hybrid-table tbody tr")).to_have_count(len(arrows))


def test_a_plan_without_arrows_has_no_hybrid_view(open_page: OpenPage) -> None:
    page = open_page("/matrix?run=r1")
    expect(page.locator("#pw-selectivity-note")).to_contain_text("as of batch")
    expect(page.locator("#pw-hybrid-box")).to_be_hidden()
