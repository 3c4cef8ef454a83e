"""A run of an operator network on the pages Results, Matrix and Monitor, and requests there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from backend.model.ids import source_id
from dashboard.views.monitor import FIRST
from tests.web.axe import violations
from tests.web.conftest import OpenPage, asking, until
from tests.web.site import Site
from tests.web.stream_run import SECONDS, UNIT, StreamRun, query_entity, trips

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "trips"
CROWD = "crowd"
N_BATCHES = 6
VIEWS = [("light", 1440, 900), ("dark", 1280, 720)]


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> Iterator[StreamRun]:
    """The running run."""
    made = StreamRun(Path(site.path), RUN).seconds(N_BATCHES)
    yield made
    made.close()


@pytest.fixture(scope="module")
def crowd(site: Site) -> Iterator[StreamRun]:
    """A run with enough tuples in a batch for several instants, and more at its beginning than
    the processor works off."""
    made = StreamRun(Path(site.path), CROWD).seconds(3, times=40)
    yield made
    made.close()


def now() -> int:
    """The last tick that is over to queries over Trips alone: the next one may have more trips."""
    return N_BATCHES * SECONDS - 2


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_an_answer_has_signs_timestamps_and_its_relation(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    path = f"/results?run={RUN}&node={query_entity('busy')}"
    page = open_page(path, scheme=scheme, width=width, height=height)
    chosen = page.locator("#pw-query-body")
    changes = chosen.get_by_role("region", name="Its last 20 changes")
    expect(changes.locator("tbody tr")).to_have_count(20)
    assert set(changes.locator("tbody td:nth-child(2)").all_inner_texts()) == {"+", "−"}
    taus = [int(text) for text in changes.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert taus == sorted(taus, reverse=True)
    assert taus[0] <= now()
    expect(chosen).to_contain_text("The relation at this moment: 4 tuples")
    relation = chosen.get_by_role("region", name="All of it")
    seen = [trip for t in range(now() - 60, now() + 1) for trip in trips(t)]
    wanted = {
        zone: sum(trip["zone"] == zone for trip in seen) for zone in {t["zone"] for t in seen}
    }
    rows = relation.locator("tbody tr")
    zones = rows.locator("th").all_inner_texts()
    counts = rows.locator("td:nth-child(2)").all_inner_texts()
    assert dict(zip(map(int, zones), map(int, counts), strict=True)) == wanted
    expect(chosen.locator(".pw-history")).to_contain_text("changes per batch")
    assert violations(page) == []


def test_a_relation_that_is_not_kept_whole_says_so(open_page: OpenPage) -> None:
    page = open_page(f"/results?run={RUN}&node={query_entity('together')}")
    expect(page.locator("#pw-query-body")).to_contain_text(
        "Relations of more than 200 tuples are not stored whole"
    )


def test_a_stream_has_no_relation_and_leads_to_its_plan(open_page: OpenPage) -> None:
    page = open_page(f"/results?run={RUN}&node={query_entity('wet')}")
    chosen = page.locator("#pw-query-body")
    changes = chosen.get_by_role("region", name="Its last 20 changes")
    expect(changes.locator("tbody tr")).to_have_count(20)
    assert set(changes.locator("tbody td:nth-child(2)").all_inner_texts()) == {"+"}
    expect(chosen).not_to_contain_text("The relation at this moment")
    chosen.get_by_role("link", name="its plan").click()
    until(page, "location.pathname === '/plan'")
    outputs = page.get_by_role("navigation", name="Outputs")
    expect(outputs.locator("[aria-current=true]")).to_have_text("wet")


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_queues_within_the_batch_and_chains_are_drawn(
    open_page: OpenPage, crowd: StreamRun, scheme: str, width: int, height: int
) -> None:
    page = open_page(f"/matrix?run={CROWD}&unit={UNIT}", scheme=scheme, width=width, height=height)
    stored = crowd.reader.matrix(CROWD, "queue curve", None, UNIT)
    assert stored is not None
    graph = "document.querySelector('#pw-queue-curves-graph .js-plotly-plot')"
    until(page, f"{graph} && {graph}.data && {graph}.data.length > 1")
    assert page.evaluate(f"{graph}.data.every(t => t.stackgroup === 'queues')")
    drawn = page.evaluate(f"{graph}.data.reduce((s, t) => s + t.y.reduce((a, b) => a + b), 0)")
    assert drawn == sum(sum(row) for row in stored.matrix.values) > 0
    charts = "document.querySelector('#pw-chains-graph .js-plotly-plot')"
    until(page, f"{charts} && {charts}.data && {charts}.data.length > 1")
    pair = page.locator(".pw-chain-pair section")
    expect(pair).to_have_count(2)
    expect(pair.last.locator("li").first).to_contain_text("elements/µs")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []
    page.keyboard.press("t")
    queues = page.get_by_role("region", name="Queues in batch")
    expect(queues.locator("tbody tr")).to_have_count(len(stored.matrix.rows))


def test_a_small_batch_has_no_curve_and_says_so(open_page: OpenPage) -> None:
    page = open_page(f"/matrix?run={RUN}&unit={UNIT}")
    panel = page.locator("#pw-queue-curves")
    expect(panel).to_contain_text("only the peaks are shown")
    # which queues are the fullest depends on chains, and these on measured times
    expect(panel.get_by_role("row", name="→").first).to_be_visible()


def test_numbers_that_no_delta_carries_follow_the_stream(
    open_page: OpenPage, run: StreamRun
) -> None:
    names = [e for e in run.reader.entities(RUN) if e.unit_id == UNIT and e.role == "window"]
    place = f"run={RUN}&node={quote(names[0].id)}&show={quote(names[0].id + '|processing_us')}"
    inspector = open_page(f"/plan?{place}").locator(".pw-properties tr")
    cost = inspector.filter(has=inspector.page.locator("[data-raw=processing_us]"))
    expect(cost).to_have_count(1)
    before = cost.inner_text()
    chart = open_page(f"/monitor?{place}").locator(".pw-monitor-graph .pw-history")
    n_points = int(str(chart.get_attribute("data-points")))
    run.seconds(1)
    expect(cost).not_to_have_text(before)
    expect(chart).to_have_attribute("data-points", str(n_points + 1))


def _next_seconds(page: Page, run: StreamRun) -> None:
    """Two batches, each in another second: SysStream's time is the engine's, in seconds."""
    for _ in range(2):
        page.wait_for_timeout(1010)  # sleeps: the pace of SysStream
        run.seconds(1)


def test_a_query_over_sysstream_becomes_a_graph(open_page: OpenPage, run: StreamRun) -> None:
    page = open_page(f"/monitor?run={RUN}")
    page.get_by_text("Draw what a query answers").click()
    page.get_by_role("textbox", name="Name", exact=True).fill("longest")
    text = "Select max(val) From SysStream [Rows 500] Where prop = 'queue_peak_tuples'"
    page.get_by_role("textbox", name="CQL over SysStream").fill(text)
    page.get_by_role("button", name="Register and draw").click()
    graphs = page.locator(".pw-monitor-graph")
    expect(graphs).to_have_count(1 + len(FIRST))  # beside those nobody picked
    graph = graphs.last
    expect(graph).to_contain_text("No value is recorded yet")
    assert "longest" in page.url
    run.seconds(1)  # registered
    _next_seconds(page, run)
    (answers,) = [e for e in run.reader.entities(RUN) if e.role == "query" and e.name == "longest"]
    value = run.reader.values(RUN)[answers.id]["answer_value"]
    assert value is not None
    page.reload()
    expect(graph.locator(".pw-history")).to_be_visible()
    expect(graph.locator("code")).to_have_text(text)
    graph.get_by_role("button", name="Rename").click()
    field = page.get_by_role("textbox", name="Title of the graph")
    field.fill("the longest queue")
    field.press("Enter")
    expect(graph.locator("h3")).to_have_text("the longest queue")
    page.reload()
    expect(graph.locator("h3")).to_have_text("the longest queue")
    assert violations(page) == []
    graph.get_by_role("button", name="Remove the query").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove longest").click()
    expect(page.locator("#pw-query-said")).to_contain_text("requested")
    run.seconds(1)
    assert run.reader.commands(RUN)[0].state == "applied"


_ALERT = "Select eid, val From SysStream [Now] Where prop = 'queue_peak_tuples' and val >= 0"


@pytest.mark.parametrize("webhook", [False, True])
def test_an_alert_rule_is_written_as_cql(
    open_page: OpenPage, run: StreamRun, webhook: bool
) -> None:
    name = f"any_queue_{webhook}"
    page = open_page(f"/alerts?run={RUN}")
    page.get_by_text("Alert when a CQL query answers").click()
    form = page.locator("#pw-alert-query")
    for text, end in (("Select prop From", "refused"), (_ALERT, "applied")):
        form.get_by_role("textbox", name="Name").fill(name)
        form.get_by_role("textbox", name="CQL").fill(text)
        form.get_by_label("webhook, too").set_checked(webhook)
        form.get_by_role("button", name="Register and alert").click()
        expect(form.get_by_role("status")).to_contain_text("requested")
        run.seconds(1)
        expect(form.get_by_role("status")).to_contain_text(end)
    form.get_by_role("textbox", name="Name").fill("half_written")
    row = page.locator("#pw-alerts-body tbody tr", has_text=name)
    expect(row).to_have_count(1)
    _next_seconds(page, run)
    expect(row).to_contain_text("holds")
    expect(row).to_contain_text(name)
    expect(row).to_contain_text("webhook" if webhook else "pages")
    expect(page.locator("#pw-alert-count")).to_have_text("1 alert")
    expect(form.get_by_role("textbox", name="Name")).to_have_value("half_written")
    assert violations(page) == []
    row.get_by_role("button", name=f"Forget the rule {name}").click()
    page.get_by_role("button", name="Forget it").click()
    expect(row).to_have_count(0)


def test_errors_of_queries_are_told_with_their_place(open_page: OpenPage, run: StreamRun) -> None:
    page = open_page(f"/results?run={RUN}")
    requests = page.locator(".pw-requests")
    for name, text, told in (
        ("typo", "Select zone From Trips [Rage 60]", "line 1, column 24"),
        ("lost", "Select depth From Trips [Now]", "line 1, column 8"),
    ):
        page.get_by_role("textbox", name="Name").fill(name)
        page.get_by_role("textbox", name="CQL").fill(text)
        page.get_by_role("button", name="Register query").click()
        expect(requests).to_contain_text(f"requested register {name}")
        run.seconds(1)
        expect(requests).to_contain_text(f"refused register {name}")
        expect(requests).to_contain_text(told)


def test_queries_of_a_network_are_paused_and_refused_in_words(
    open_page: OpenPage, run: StreamRun
) -> None:
    page = open_page(f"/results?run={RUN}&node={query_entity('busy')}")
    page.locator("#pw-query-body").get_by_role("button", name="Pause").click()
    requests = page.locator(".pw-requests")
    expect(requests).to_contain_text("requested pause busy")
    run.seconds(1)
    expect(requests).to_contain_text("'named' reads what query 'busy' answers")
    page.locator("tr[data-query=zones]").get_by_role("link").click()
    expect(page.locator("#pw-query-body")).to_contain_text("zones")
    page.locator("#pw-query-body").get_by_role("button", name="Pause").click()
    expect(requests).to_contain_text("requested pause zones")
    run.seconds(1)
    expect(page.locator("tr[data-query=zones]")).to_contain_text("paused")


#: Clicks a button the moment it is there, and says whether the page knows its run by then.
_AT_ONCE = """() => new MutationObserver((_, watch) => {
  const button = document.querySelector("#pw-inputs [data-stream=Weather][data-intake=paused]");
  if (!button) return;
  watch.disconnect();
  window.knew = window.planwatch.known.run;
  button.click();
}).observe(document, { childList: true, subtree: true })"""


def test_a_stream_is_paused_resumed_and_removed_by_buttons(
    open_page: OpenPage, site: Site, run: StreamRun
) -> None:
    """Also before the page knows its run."""
    page = open_page(f"/?run={RUN}")
    row = page.locator("#pw-inputs tr", has=page.locator("[data-stream=Weather]"))
    page.reload(wait_until="commit")
    with asking(page, site.reader, RUN):
        page.evaluate(_AT_ONCE)
        until(page, "document.querySelector('.pw-toast') !== null")
    run.seconds()
    expect(row).to_contain_text("paused")
    first = site.reader.commands(RUN)[0]
    assert (first.kind, first.payload["knob"], first.payload["value"]) == (
        "knob",
        "intake",
        "paused",
    )
    assert first.state == "applied"
    assert first.reason == "Pause Weather, by its button"
    row.get_by_role("button", name="Remove").click()
    question = page.get_by_role("dialog", name="Remove Weather")
    expect(question).to_contain_text("Remove the stream Weather?")
    question.get_by_role("button", name="Cancel").click()
    assert site.reader.commands(RUN)[0] == first
    page.goto(f"{site.url}/plan?run={RUN}&node={quote(source_id('Weather'))}")
    inspector = page.locator(".pw-inspector")
    with asking(page, site.reader, RUN):
        inspector.get_by_role("button", name="Resume").click()
    run.seconds()
    expect(inspector.get_by_role("button", name="Pause")).to_be_visible()
    assert site.reader.commands(RUN)[0].payload["value"] == "on"
