"""Pages of a run under k-constraints that the real engine makes: what they show is on record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from dashboard.systems.kmon.history import DISTANCES, counted, recent
from tests.web.conftest import OpenPage, until, until_asked
from tests.web.kmon_run import UNIT, KMonRun
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "kmon-live"
RIDS = "RIDS C → B"
PAGE = f"/constraints?run={RUN}"
ROW = f'.pw-k[data-constraint="{RIDS}"]'
TRIED = f'.pw-k-whatif[data-constraint="{RIDS}"]'


@pytest.fixture(scope="module")
def run(site: Site) -> Iterator[KMonRun]:
    """The running run, whose constraint is pinned: whether it pays depends on the machine."""
    with closing(KMonRun(site.path, RUN, pinned_constraints=RIDS).seconds(4)) as made:
        yield made


def used(site: Site, run: KMonRun) -> float | None:
    """k of the constraint in the last batch, as it is on record."""
    at = run.batch_id - 1
    (id,) = (one.id for one in site.reader.entities(RUN, at) if one.name == RIDS)
    k = site.reader.values(RUN, at)[id]["k_used_tuples"]
    return k if k == k else None


def _told(texts: list[str]) -> str:
    """As a script has it."""
    return json.dumps(json.dumps(texts, ensure_ascii=False, separators=(",", ":")))


def live(page: Page) -> None:
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")


def test_a_constraint_is_given_up_taken_up_again_and_shown_as_it_is_on_record(
    open_page: OpenPage, site: Site, run: KMonRun
) -> None:
    page = open_page(PAGE)
    live(page)
    k = used(site, run)
    assert k is not None
    expect(page.locator(ROW)).to_have_attribute("data-used", f"{k:.0f}")
    forbid = page.get_by_role("button", name=f"Forbid {RIDS}", exact=True)
    forbid.click()
    until_asked(page, site.reader, RUN, 1)
    run.seconds(2)
    assert used(site, run) is None
    expect(page.locator(ROW)).to_have_attribute("data-used", "∞")
    expect(forbid).to_have_attribute("aria-pressed", "true")
    forbid.click()
    until_asked(page, site.reader, RUN, 2)
    run.seconds(2)
    again = used(site, run)
    assert again is not None
    expect(page.locator(ROW)).to_have_attribute("data-used", f"{again:.0f}")
    expect(page.get_by_role("button", name=f"Pin {RIDS}", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )


def test_what_another_k_would_lose_is_counted_over_the_record(
    open_page: OpenPage, site: Site, run: KMonRun
) -> None:
    at = run.batch_id - 1
    page = open_page(f"{PAGE}&show={RIDS}@20&at={at}")
    tried = page.locator(TRIED)
    expect(tried).to_have_attribute("data-k", "20")
    (id,) = (one.id for one in site.reader.entities(RUN, at) if one.name == RIDS)
    counts = counted(recent(site.reader, RUN, DISTANCES, at, UNIT), id)
    above = sum(n for end, n in counts.items() if end > 20)
    assert 0 < above < sum(counts.values())
    share = float(tried.get_attribute("data-share") or "nan")
    assert share == pytest.approx(above / sum(counts.values()), abs=1e-4)
    page.get_by_role("slider", name=f"Tried k of {RIDS}").focus()
    page.keyboard.press("End")
    expect(tried).to_have_attribute("data-k", "∞")
    assert float(tried.get_attribute("data-share") or "nan") == 0


def test_kept_tuples_say_what_they_wait_for_and_bids_what_they_are_worth(
    open_page: OpenPage, site: Site, run: KMonRun
) -> None:
    at = run.batch_id - 1
    page = open_page(f"{PAGE}&at={at}")
    kept = next(
        found
        for key in site.reader.matrix_keys(RUN, UNIT)
        if key.kind == "k kept" and (found := site.reader.matrix(RUN, key.name, at, UNIT))
    )
    words = kept.matrix.row_stats["why"]
    place = next(place for place, one in enumerate(words) if f"by {RIDS}" in one)
    line = page.locator(f'.pw-kept [data-kept="{kept.matrix.rows[place]}"]').first
    expect(line).to_contain_text(words[place])
    line.get_by_role("link", name="What if k").click()
    expect(page.locator(TRIED)).to_be_visible()
    page = open_page(f"/memory?run={RUN}&at={at}")
    expect(page.locator("#pw-k-bids dt").filter(has_text=RIDS)).to_have_count(1)


def test_the_least_k_is_on_the_edge_whose_tuples_it_lets_go(
    open_page: OpenPage, site: Site, run: KMonRun
) -> None:
    at = run.batch_id - 1
    constraints = [one for one in site.reader.entities(RUN, at) if one.role == "constraint"]
    values = site.reader.values(RUN, at)
    wanted = []
    for port in (0, 1):
        own = [values[one.id] for one in constraints if one.properties["port"] == port]
        ks = [k for one in own if (k := one["k_used_tuples"]) is not None and k == k]
        wanted.append(f"k {min(ks):.0f}" if ks else "k ∞")
    page = open_page(f"/plan?run={RUN}&at={at}")
    brackets = page.locator(".pw-edge-bracket text")
    expect(brackets).to_have_count(2)
    assert sorted(brackets.all_text_contents()) == sorted(wanted)


def test_a_replay_shows_what_was_live(open_page: OpenPage, run: KMonRun) -> None:
    drawn = "[...document.querySelectorAll('.pw-k')].map((one) => one.innerText.toLowerCase())"
    at = run.batch_id - 1
    page = open_page(PAGE)
    live(page)
    until(page, f"{drawn}.length > 0")
    expect(page.locator("#pw-shell")).to_have_attribute("data-painting", "0")
    before = page.evaluate(drawn)
    run.seconds(1)
    until(page, f"JSON.stringify({drawn}) !== {_told(before)}")
    page = open_page(f"{PAGE}&at={at}")
    until(page, f"{drawn}.length > 0")
    assert page.evaluate(drawn) == before


def test_an_alert_is_about_k_of_a_constraint(open_page: OpenPage, run: KMonRun) -> None:
    page = open_page(f"/alerts?run={RUN}")
    live(page)
    choice = page.locator(
        f"#pw-alert-choices option[value*='Used k (k_used_tuples)'][value*='{RIDS}']"
    )
    expect(choice).to_have_count(1)
    number = choice.get_attribute("value")
    assert number is not None
    page.get_by_label("Number the rule is about").fill(number)
    page.get_by_label("Relation").select_option(">")
    page.get_by_label("Threshold", exact=True).fill("1")
    page.get_by_label("Name of the rule").fill("k is large")
    page.get_by_role("button", name="Add the rule").click()
    row = page.locator("#pw-alerts-body tbody tr", has_text="k is large")
    expect(row).to_contain_text(RIDS)
    expect(page.locator("#pw-alert-count")).to_be_visible()


def test_compare_adds_up_what_joins_hold(open_page: OpenPage, site: Site, run: KMonRun) -> None:
    page = open_page(f"/compare?run={RUN}")
    expect(page.locator("#pw-page")).to_contain_text("Tuples held by joins under k-constraints")


def test_the_tour_stops_at_the_constraints(open_page: OpenPage, run: KMonRun) -> None:
    page = open_page(f"/constraints?run={RUN}&tour=4")
    expect(page.locator("#pw-tour-place")).to_contain_text("4 of 7")
    expect(page.locator("#pw-tour-title")).to_have_text("What need not be kept")
