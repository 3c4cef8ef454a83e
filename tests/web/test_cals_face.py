"""What windows that shed show: receipts, runs, accuracy over time, the share on their cards."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.axe import violations
from tests.web.conftest import OpenPage, until
from tests.web.recorded_cals import BEGINS, RUN, TURNED, WINDOW, CalsRecording, record_cals
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
PAGE = f"/shed?run={RUN}"
N_BATCHES = 10


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> CalsRecording:
    """The running run."""
    return record_cals(site.writer, N_BATCHES)


def test_a_receipt_is_looked_at_and_its_run_is_marked(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={TURNED}", scheme="dark", width=1280, height=720)
    told = page.locator("#pw-shed-windows")
    expect(told).to_contain_text("100 tuples were shed in this batch by cals: more came than there")
    expect(told).to_contain_text("and the limit was lowered")
    expect(told).to_contain_text("of 1\u202f000 tuples")
    expect(told.locator(".pw-shed-fates")).to_have_attribute(
        "aria-label", "Of 48 coalesced tuples: unchanged 40, shortened 5, split 0, lost 3"
    )
    rows = page.locator("#pw-shed-receipts tbody tr")
    expect(rows).to_have_count(2)
    page.locator("#pw-shed-reason").get_by_text("Limit lowered").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("nothing")
    rows.locator("a").click()
    until(page, f"new URLSearchParams(location.search).get('show') === '1061 {WINDOW}'")
    runs = page.locator("#pw-shed-runs")
    expect(runs.locator(".pw-shed-chosen")).to_contain_text("nothing was left of its run in memory")
    expect(runs.locator('[data-value="80"] .pw-shed-is-chosen')).to_have_count(1)
    expect(runs.locator('[data-value="70"] .pw-shed-shortened')).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


def test_a_replay_shows_what_was_known_then(open_page: OpenPage) -> None:
    page = open_page(f"{PAGE}&at={BEGINS - 1}")
    expect(page.locator("#pw-shed-windows")).to_contain_text("nothing was shed in this batch")
    expect(page.locator("#pw-shed-runs")).to_be_hidden()
    graph = "document.querySelector('#pw-shed-history-graph .js-plotly-plot')"
    measured = f"{graph}.data.find((one) => one.name === 'measured').y"
    until(page, f"{graph} && {graph}.data && {measured}.length === {BEGINS}")
    page = open_page(f"/timeline?run={RUN}&at={BEGINS - 1}")
    graph = graph.replace("history", "lanes")
    until(page, f"{graph} && {graph}.data")
    begins = f"{graph}.data.find((one) => one.name === 'shedding begins').customdata[0][0]"
    assert page.evaluate(begins) == BEGINS


def test_the_plan_says_what_is_shed_and_leads_to_the_page(
    open_page: OpenPage, run: CalsRecording
) -> None:
    card = f'.pw-card[data-id="{WINDOW}"]'
    page = open_page(f"/plan?run={RUN}")
    expect(page.locator(card)).to_contain_text("✂ 50.0\u2009%")
    run.write()
    expect(page.locator(card)).to_contain_text("✂ 60.0\u2009%")
    page = open_page(f"/plan?run={RUN}&at={TURNED}")
    words = "of the window; accuracy 0.60 [0.55, 0.65]"
    expect(page.locator("#pw-page")).to_contain_text(words)
    expect(page.locator(card)).to_contain_text("✂ 50.0\u2009%")
    page.locator('.pw-nav-link[data-pw-path="/shed"]').click()
    expect(page.locator("#pw-shed-windows")).to_contain_text("50.0")
