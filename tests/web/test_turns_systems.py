"""Turns of knobs of filters and joins: previewed from the record, judged, or why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from dashboard.components.names import words_of
from tests.web.conftest import OpenPage, asking, drafted
from tests.web.joins_run import JoinsRun
from tests.web.recorded_filters import FilterRecording
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
FILTERS, JOINS = "turns-filters", "turns-joins"
BATCHES = 26


@pytest.fixture(scope="module")
def filters(site: Site) -> Iterator[FilterRecording]:
    """A running run of filters, from quiet into the attack."""
    made = FilterRecording(site.path, FILTERS)
    for _ in range(BATCHES):
        made.write()
    yield made
    made.close()


@pytest.fixture(scope="module")
def joins(site: Site) -> Iterator[JoinsRun]:
    """A running run of a join, with caches in use."""
    made = JoinsRun(Path(site.path), JOINS, interval_tuples=1000).ticks(24)
    yield made
    made.close()


def preview(card: Locator) -> Locator:
    return card.locator(".pw-knob-preview")


def take(page: Page, site: Site, run: str, card: Locator, one_more: Callable[[], object]) -> None:
    """Apply what is drafted, and have the engine answer."""
    with asking(page, site.reader, run):
        card.get_by_role("button", name=re.compile("^Apply")).click()
    one_more()


def verdict(page: Page, name: str) -> Locator:
    row = page.locator("#pw-audit tbody tr").filter(has_text=words_of(name)).first
    return row.locator("[data-pw-effect]")


@pytest.mark.parametrize(("name", "value"), [("alpha", "0.2"), ("filter_algorithm", "sweep")])
def test_a_knob_of_filters_points_to_a_branch(
    open_page: OpenPage, filters: FilterRecording, name: str, value: str
) -> None:
    page = open_page(f"/knobs?run={FILTERS}")
    shown = preview(drafted(page, name, value))
    expect(shown).to_contain_text("No preview. A branch of the run decides again with it")


def test_what_cannot_be_decided_again_says_why(
    open_page: OpenPage, filters: FilterRecording
) -> None:
    page = open_page(f"/knobs?run={FILTERS}")
    shown = preview(drafted(page, "native_cost_us", "0.5"))
    expect(shown).to_contain_text("No preview. This cost is assumed, not measured")
    expect(shown).to_contain_text("batches before and after are compared")


def test_a_turn_of_filters_is_judged_before_and_after(
    open_page: OpenPage, filters: FilterRecording, site: Site
) -> None:
    page = open_page(f"/knobs?run={FILTERS}")
    card = drafted(page, "filter_algorithm", "static")
    take(page, site, FILTERS, card, filters.write)
    for _ in range(12):
        filters.write()
    shown = verdict(page, "filter_algorithm")
    expect(shown).to_have_text(re.compile(r"visits [+−].* ± .*, before and after \(not paired\)"))


def test_a_turn_that_no_record_tells_of_is_compared_before_and_after(
    open_page: OpenPage, filters: FilterRecording, site: Site
) -> None:
    page = open_page(f"/knobs?run={FILTERS}")
    card = drafted(page, "profile_prob", "0.08")
    expect(preview(card)).to_contain_text("which tuples are sampled")
    take(page, site, FILTERS, card, filters.write)
    for _ in range(8):
        filters.write()
    shown = verdict(page, "profile_prob")
    expect(shown).to_have_text(re.compile(r"visits [+−].* ± .*, before and after \(not paired\)"))


def test_knobs_of_joins_are_previewed_or_say_why_not(
    open_page: OpenPage, joins: JoinsRun, site: Site
) -> None:
    page = open_page(f"/knobs?run={JOINS}")
    card = drafted(page, "caching", "off")
    expect(preview(card)).to_contain_text(re.compile(r"on the record: cost of the join \+"))
    card.get_by_role("button", name="Discard").click()
    orders = drafted(page, "join_order", "independent")
    expect(preview(orders)).to_contain_text(re.compile(r"on the record: looking for partners"))
    orders.get_by_role("button", name="Discard").click()
    expect(preview(drafted(page, "scheduler", "fifo"))).to_contain_text("What waits is predicted")
    expect(preview(drafted(page, "pool_bytes", "8192"))).to_contain_text("The Memory page")


def test_a_turn_of_caching_is_judged_on_the_same_estimates(
    open_page: OpenPage, joins: JoinsRun, site: Site
) -> None:
    page = open_page(f"/knobs?run={JOINS}")
    card = drafted(page, "caching", "greedy")
    take(page, site, JOINS, card, joins.ticks)
    joins.ticks(24)
    shown = verdict(page, "caching")
    expect(shown).to_contain_text(re.compile(r"cost of the join .* ± .*, planned anew"))


@pytest.mark.parametrize(
    ("run", "front"),
    [
        (FILTERS, ["alpha", "policy", "filter_algorithm", "violation_rule"]),
        (JOINS, ["scheduler", "join_order", "caching", "pool_bytes"]),
    ],
)
def test_four_knobs_of_a_unit_stand_in_front(
    open_page: OpenPage,
    filters: FilterRecording,
    joins: JoinsRun,
    run: str,
    front: list[str],
) -> None:
    page = open_page(f"/knobs?run={run}")
    group = page.locator("#pw-page section", has=page.locator(f"[data-knob='{front[0]}']")).first
    expect(group.locator("details.pw-expert [data-knob]").first).to_be_hidden()
    seen = group.locator("[data-knob]:visible")
    expect(seen).to_have_count(4)
    assert seen.evaluate_all("all => all.map(one => one.dataset.knob)") == front
    titles = group.locator("[data-knob]:visible .pw-term").all_inner_texts()
    assert not any("_" in title for title in titles)
