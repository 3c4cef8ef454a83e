"""A turn is previewed, applied for a while, judged, kept or taken back; sets of values."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.unit.asc.stream import a_filters, b_filters, tuples
from tests.web.conftest import OpenPage, asking, drafted, until_asked
from tests.web.engine_run import UNIT, SelectionRun
from tests.web.site import Site

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def lively(site: Site) -> Iterator[SelectionRun]:
    """A run whose filtering attribute moves, so that μ matters."""
    run = SelectionRun(site.path, "e2", ordering="macro", min_samples=50).drift()
    yield run
    run.close()


def test_a_turn_is_previewed_judged_and_kept(
    open_page: OpenPage, lively: SelectionRun, site: Site
) -> None:
    page = open_page("/knobs?run=e2")
    mu = page.locator("#pw-page [data-knob='mu']")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    mu.get_by_label("mu", exact=True).fill("9")
    expect(mu.locator(".pw-knob-preview")).to_contain_text(
        re.compile(r"on the record: visits \+.* ± .*, switches \d+ → 0 \(estimated\)")
    )
    mu.get_by_label("How long mu holds").select_option("300")
    mu.get_by_role("button", name="Apply 9").click()
    until_asked(page, site.reader, "e2", 1)
    lively.run(a_filters(1500, 3)).run(b_filters(3500, 4)).run(tuples(500, 6))
    row = page.locator("#pw-audit tbody tr").filter(has_text="Threshold μ").last
    expect(row.locator("[data-pw-effect]")).to_contain_text(
        re.compile(r"visits \+.* ± .*, switches \d+ → 0")
    )
    expect(row.locator("[data-pw-effect]")).to_have_attribute(
        "data-pw-effect", re.compile("warning|quiet")
    )
    expect(row.locator("[data-pw-forecast]")).to_contain_text(
        re.compile(r"forecast visits \+.* ± .*, switches \d+ → 0: ")
    )
    expect(row).to_contain_text("else back at")
    row.get_by_role("button", name="Keep").click()
    until_asked(page, site.reader, "e2", 2)
    lively.run(tuples(250, 8))
    expect(row.get_by_role("button", name="Keep")).to_have_count(0)
    assert lively.loop.settings.scopes[UNIT].number("mu") == 9


def test_samples_and_the_price_of_a_visit_are_previewed_on_the_record(
    open_page: OpenPage, lively: SelectionRun
) -> None:
    page = open_page("/knobs?run=e2")
    told = {
        "min_samples": r"on the record: visits .* ± .*, \d+ of \d+ times on other samples than",
        "no_drop_visit_cost": r"on the record: visits, branch-free ones at the measured price, ",
    }
    for name, value in {"min_samples": "400", "no_drop_visit_cost": "0.1"}.items():
        card = drafted(page, name, value)
        expect(card.locator(".pw-knob-preview")).to_contain_text(re.compile(told[name]))
        card.get_by_role("button", name="Discard").click()


def test_a_set_of_values_is_saved_and_taken(
    open_page: OpenPage, lively: SelectionRun, site: Site
) -> None:
    page = open_page("/knobs?run=e2")
    page.get_by_role("button", name="Save the values in force as …").click()
    page.get_by_role("textbox", name="Save the values in force as").fill("calm")
    page.get_by_role("button", name="Save", exact=True).click()
    calm = page.locator("#pw-presets tbody tr", has_text="calm")
    expect(calm).to_contain_text("nothing: these are the values in force")
    began = page.locator("#pw-presets tbody tr", has_text="As the run began")
    expect(began).to_contain_text("Threshold μ 9 → 0.05")
    with asking(page, site.reader, "e2"):
        began.get_by_role("button", name="Take (1 turn)").click()
    lively.run(tuples(250, 9))
    expect(began).to_contain_text("nothing")
    expect(calm).to_contain_text("Threshold μ 0.05 → 9")


def test_a_turn_that_nobody_keeps_is_taken_back(open_page: OpenPage, lively: SelectionRun) -> None:
    page = open_page("/knobs?run=e2")
    before = lively.loop.settings.scopes[UNIT].number("mu")
    turn = {"knob": "mu", "scope": UNIT, "value": 0.7, "unless_kept_s": 2}
    lively.ask("knob", turn)
    lively.run(tuples(250, 10))
    row = page.locator("#pw-audit tbody tr").filter(has_text="0.7").first
    expect(row).to_contain_text("else back at")
    page.wait_for_timeout(2200)  # sleeps: so long it holds
    lively.run(tuples(250, 11))
    expect(row).to_contain_text("taken back at batch")
    expect(row.get_by_role("button", name="Keep")).to_have_count(0)
    mu = page.locator("#pw-page [data-knob='mu']")
    expect(mu).to_have_attribute("data-value", f"{before:g}")


def test_all_turns_go_back_at_one_click(
    open_page: OpenPage, lively: SelectionRun, site: Site
) -> None:
    lively.ask("knob", {"knob": "mu", "scope": UNIT, "value": 3.0})
    lively.ask("knob", {"knob": "min_gain", "scope": UNIT, "value": 0.5})
    lively.run(tuples(250, 12))
    page = open_page("/knobs?run=e2")
    began = page.locator("#pw-presets tbody tr", has_text="As the run began")
    expect(began).to_contain_text("Least gain 0.5 → 0.01")
    with asking(page, site.reader, "e2", 2):
        began.get_by_role("button", name="Take (2 turns)").click()
    lively.run(tuples(250, 13))
    expect(began).to_contain_text("nothing")
    values = lively.loop.settings.scopes[UNIT]
    assert (values.number("mu"), values.number("min_gain")) == (0.05, 0.01)


def test_an_ordering_is_previewed_and_judged(open_page: OpenPage, site: Site) -> None:
    run = SelectionRun(site.path, "e3", ordering="macro", lambda_tuples=1000, mu=0.0)
    run.run(tuples(40_000, 5), 1000)
    page = open_page("/knobs?run=e3")
    ordering = page.locator("#pw-page [data-knob='ordering']")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    box, told = ordering.get_by_label("ordering", exact=True), ordering.locator(".pw-knob-preview")
    box.select_option("worst")
    expect(told).to_contain_text("No preview. Other orders are planned at some evaluations")
    box.select_option("macs")
    expect(told).to_contain_text(
        re.compile(r"on the record: visits [+−].* ± .*, planned anew at each evaluation \(paired\)")
    )
    with asking(page, site.reader, "e3"):
        ordering.get_by_role("button", name="Apply macs").click()
    run.run(tuples(8000, 6), 1000)
    row = page.locator("#pw-audit tbody tr").filter(has_text="Ordering").first
    expect(row.locator("[data-pw-effect]")).to_have_text(
        re.compile(r"visits [+−].* ± .*, against the plan of before, kept \(paired\)")
    )
    run.close()
