"""The Compare page: two runs, two stretches, and a branch of the recorded run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backend.engine.branching import BranchProcesses
from tests.web.conftest import OpenPage, until
from tests.web.engine_run import UNIT, SelectionRun
from tests.web.recorded import Recording
from tests.web.site import Site

pytestmark = pytest.mark.web

PLOT = "document.querySelector('#pw-compare-graph .js-plotly-plot')"


def test_two_stretches_of_a_run_are_laid_over_each_other(open_page: OpenPage) -> None:
    page = open_page("/compare?run=r1&show=r1,0,59~r1,100,159~batch")
    until(page, f"!!({PLOT} && {PLOT}.data && {PLOT}.data.length >= 8)")
    sides = page.evaluate(
        f"{PLOT}.data.slice(0, 2).map(trace => [trace.meta.side, trace.x.length])"
    )
    assert sides == [["A", 60], ["B", 60]]
    expect(page.locator("#pw-compare-body tbody tr").first).to_contain_text(
        re.compile(r"Visits per tuple.*[+−]\d")
    )
    expect(page.locator("#pw-compare-foot")).to_contain_text("0 only in A, 2 only in B, 0 in both")
    page.get_by_label("Run of B").select_option("r2")
    page.get_by_label("Last batch of B").fill("59")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#pw-compare-body caption")).to_contain_text("flights · r2, batches 0 … 59")
    until(page, "location.search.includes('r2%2C0%2C59')")
    page.get_by_role("link", name="by time of the stream").click()
    until(page, f"{PLOT}.layout.xaxis.type === 'category'")
    link = page.locator("#pw-compare-foot tbody tr a").first
    if link.count():
        link.click()
        until(page, "location.pathname === '/decisions'")


def test_one_huge_batch_does_not_flatten_the_charts(open_page: OpenPage, site: Site) -> None:
    slow = Recording(site.writer, "warming", time.time() - 4000)
    slow.begin()
    slow.warm_up_ms = 60_000.0
    for _ in range(60):
        slow.write()
    site.writer.set_state("warming", "ended", "the input ended", time.time() - 3900)
    page = open_page("/compare?run=warming&show=warming,0,29~warming,30,59~batch")
    top = f"{PLOT}._fullLayout.yaxis4.range[1]"
    until(page, f"!!({PLOT} && {PLOT}._fullLayout && {PLOT}._fullLayout.yaxis4)")
    assert page.evaluate(f"{PLOT}.layout.annotations[3].text").startswith("<b>Batch time")
    until(page, f"{top} < 300")
    expect(page.locator("#pw-scale-note")).to_have_text("1 point lies above the scale")
    page.get_by_role("button", name="full").click()
    until(page, f"{top} > 50_000")


@pytest.fixture(scope="module")
def lively(site: Site) -> Iterator[SelectionRun]:
    """A run whose filtering attribute moves."""
    run = SelectionRun(site.path, "e2", ordering="macro", min_samples=50).drift()
    yield run
    run.close()


def test_a_branch_leaves_the_record_at_the_moment(
    open_page: OpenPage, lively: SelectionRun
) -> None:
    page = open_page("/compare?run=e2&at=6")
    form = page.locator(".pw-branch")
    expect(form).to_contain_text("From batch 6 on, with")
    form.get_by_label("Value in the branch", exact=True).fill("9")
    form.get_by_role("button", name="Branch from here").click()
    rows = page.locator("#pw-branch .pw-whatif-runs tbody tr")
    expect(rows.nth(1)).to_contain_text("at Threshold μ = 9")
    until(page, "location.search.includes('mu%3D9')")
    words = page.locator("#pw-branch .pw-whatif-words")
    expect(words).to_contain_text(re.compile(r"[1-9]\d* would vanish, 0 would appear"))
    page.reload()
    expect(rows.nth(1)).to_contain_text("at Threshold μ = 9")
    plot = "document.querySelector('#pw-branch-graph .js-plotly-plot')"
    until(page, f"!!({plot} && {plot}.data && {plot}.data.length === 5)")


def test_every_knob_of_the_unit_can_be_branched_on_within_its_range(
    open_page: OpenPage, lively: SelectionRun
) -> None:
    page = open_page("/compare?run=e2&at=6")
    form = page.locator(".pw-branch")
    knobs = form.get_by_label("Knob of the branch")
    expect(knobs).to_have_value("mu")
    found = page.evaluate(
        "[...document.querySelectorAll('.pw-branch optgroup')]"
        ".map(group => [group.label, [...group.children].map(one => one.value)])"
    )
    assert [label for label, _ in found] == ["estimated at once", "by a replay"]
    at_once = {"mu", "trigger", "cooldown_tuples", "min_gain", "min_samples", "no_drop_visit_cost"}
    assert set(found[0][1]) == at_once
    names = {one.name for one in lively.reader.knobs("e2") if one.scope == UNIT}
    assert names == {name for _, group in found for name in group}
    knobs.select_option(label="Re-computation period λ")
    expect(form.get_by_role("button", name="Branch from here")).to_have_count(0)
    expect(form).to_contain_text(
        re.compile(r"lambda_tuples, in force 500, allowed 100 … 100\D000\D000 tuples: ")
    )
    value = form.get_by_label("Value in the branch", exact=True)
    run = form.get_by_role("button", name="Run this branch")
    value.fill("0.5")
    expect(form.get_by_role("alert")).to_have_text("a whole number, please")
    expect(run).to_have_count(0)
    value.fill("0")
    expect(form.get_by_role("alert")).to_contain_text("at least")
    value.fill("800")
    expect(run).to_be_visible()
    slider = form.get_by_label("Value in the branch, slider").bounding_box()
    assert slider is not None
    assert slider["width"] > 100
    knobs.select_option("trigger")
    value.select_option("dropping ratio")
    form.get_by_role("button", name="Branch from here").click()
    rows = page.locator("#pw-branch .pw-whatif-runs tbody tr")
    expect(rows.nth(1)).to_contain_text("What triggers = dropping ratio")


def test_a_branch_is_asked_of_the_engine_by_a_button(
    open_page: OpenPage, lively: SelectionRun
) -> None:
    beside = BranchProcesses(lively.path, Path(lively.path).with_name("branch.log"))
    lively.loop.job = replace(lively.loop.job, branches=beside)
    page = open_page("/compare?run=e2&at=6")
    form = page.locator(".pw-branch")
    form.get_by_label("Value in the branch", exact=True).fill("0.9")
    form.get_by_role("button", name="Run this branch").click()
    until(page, "document.getElementById('pw-announce').textContent.includes('requested')")
    lively.loop.idle()
    said = "Branch at batch 6 with Threshold μ = 0.9 is begun; it shows up in the list of runs"
    expect(page.locator(".pw-toast")).to_contain_text(said)
    (asked,) = [one for one in lively.reader.commands("e2") if one.kind == "branch"]
    assert asked.payload == {"run": "e2", "at": 6, "knob": "mu", "value": 0.9, "scope": "asc.S"}
    beside.wait()
    lively.loop.idle()
    last = lively.reader.events("e2")[-1].event
    assert last.title == "the branch of e2 at batch 6 with mu = 0.9 has failed"
    assert "which workload file run e2 was made from is not on record" in last.detail


def test_two_logs_stand_in_one_space(open_page: OpenPage, site: Site) -> None:
    for name in ("log-a", "log-b"):
        SelectionRun(site.path, name, policy="autopilot").drift().close()
    plot = "document.querySelector('#pw-compare-logs-graph .js-plotly-plot')"
    sides = f"{plot}.data.filter(trace => trace.meta && trace.meta.side)"
    page = open_page("/compare?run=log-b&show=log-a,0,~log-b,0,~batch")
    until(page, f"!!({plot} && {plot}.data && {sides}.length)")
    n = {"A": len(site.reader.looks("log-a")), "B": len(site.reader.looks("log-b"))}
    for side in "AB":
        own = f"{sides}.filter(trace => trace.meta.side === '{side}').flatMap(trace => trace.x)"
        assert page.evaluate(f"{own}.length") == n[side] > 3
    panel = page.locator("#pw-compare-logs")
    expect(panel).to_contain_text(f"Of the {n['B']} looks of B, 100")
    across, up = page.get_by_label("Statistic across"), page.get_by_label("Statistic up")
    before = up.input_value()
    across.select_option(before)
    until(page, f"{plot}.layout.xaxis.title.text.startsWith({before!r})")
    page.get_by_label("Last batch of B").fill("1")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(panel).to_contain_text("Of the one look of B, 100")
