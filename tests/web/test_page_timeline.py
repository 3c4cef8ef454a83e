"""The Timeline page: one figure with all panels, live, with a cursor, lanes and a table twin."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect
from plotly.offline import get_plotlyjs_version

from tests.web.conftest import OpenPage, painted, until
from tests.web.recorded import record
from tests.web.site import Site

pytestmark = pytest.mark.web
PLOT = "document.querySelector('#pw-timeline-graph .js-plotly-plot')"
SLOW_S = 40.0  # plotly is large, and test machines are busy


def drawn(page: Page) -> Page:
    """Wait for the figure."""
    until(page, f"!!({PLOT} && {PLOT}.data && {PLOT}.data.length > 8)", SLOW_S)
    return page


def lane(kind: str) -> str:
    """The trace of a lane, as JavaScript."""
    return f"{PLOT}.data.find(trace => trace.meta && trace.meta.lane === '{kind}')"


def points(name: str) -> str:
    """How many points the trace of a property has, as JavaScript."""
    return f"{PLOT}.data.find(trace => trace.meta && trace.meta.live === 'system|{name}').x.length"


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_panels_lanes_and_bands_are_drawn(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = drawn(open_page("/timeline?run=r1", scheme=scheme, width=width, height=height))
    assert page.evaluate(points("visits_per_tuple")) == 200
    assert page.evaluate(f"{lane('rearrangement')}.x.length") == 4
    assert page.evaluate(f"{lane('query')}.x.length") == 1
    edges = f"{PLOT}.data.filter(trace => trace.meta && trace.meta.band).length"
    assert page.evaluate(edges) == 4
    assert page.evaluate(f"{PLOT}.layout.hovermode") == "x unified"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_small_plotly_is_loaded_and_no_other(open_page: OpenPage) -> None:
    page = open_page("/healthz", rests=False)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page.url.replace("/healthz", "/timeline?run=r1"))
    drawn(page)
    assert [url for url in asked if "plotly" in url.rpartition("/")[2]] == [
        next(url for url in asked if url.endswith("/vendor/plotly.min.js"))
    ]
    assert page.evaluate("Plotly.version") == get_plotlyjs_version()


def test_the_cursor_follows_the_moment_without_a_redraw(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    assert page.evaluate(f"({PLOT}.layout.shapes || []).length") == 0
    page.evaluate("window.asked = 0; planwatch.go({at: 60})")
    until(page, f"({PLOT}.layout.shapes || []).length === 1")
    time = page.evaluate(f"{PLOT}.layout.shapes[0].x0")
    assert time == page.evaluate(f"{PLOT}.data.find(t => t.meta && t.meta.live).x[60]")


def test_live_points_extend_the_traces(open_page: OpenPage, site: Site) -> None:
    page = drawn(open_page("/timeline"))
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")
    before = page.evaluate(points("visits_per_tuple"))
    site.feed(5, 0.1)
    until(page, f"{points('visits_per_tuple')} >= {before + 5}")
    newest = f"{PLOT}.data.filter(t => t.meta && (t.meta.live || t.meta.band))"
    ends = f"new Set({newest}.map(trace => trace.x[trace.x.length - 1]))"
    until(page, f"{ends}.size === 1")


def test_the_table_twin_lists_events_that_lead_to_their_batch(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    page.keyboard.press("t")
    table = page.locator(".pw-timeline-events")
    expect(table).to_be_visible()
    row = table.locator("tr", has_text="Plan 3").first
    row.get_by_role("link", name="110").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("at=110"))


def mark_place(page: Page) -> list[float]:
    """Where the second rearrangement is on the screen, and a place above it between the lines."""
    until(page, f"!!{PLOT}._fullLayout.yaxis6")
    found: list[float] = page.evaluate(
        f"(() => {{ const gd = {PLOT}, full = gd._fullLayout, box = gd.getBoundingClientRect();"
        f" const mark = {lane('rearrangement')};"
        " const y = full[mark.yaxis.replace('y', 'yaxis')];"
        " return [box.left + full.xaxis._offset + full.xaxis.d2p(mark.x[1]),"
        " box.top + y._offset + y.d2p(0), box.top + full.yaxis2._offset + 30]; })()"
    )
    return found


def test_a_click_on_an_event_goes_to_its_batch(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    x, y, _ = mark_place(page)
    page.mouse.move(x, y)
    until(page, f"{PLOT}._hoverdata?.length")
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile("at=110"), timeout=10_000)


def test_no_click_elsewhere_and_no_double_click_moves_the_moment(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    x, y, above = mark_place(page)
    page.mouse.move(x, above)
    page.wait_for_timeout(300)  # sleeps: nothing is under the pointer
    page.mouse.click(x, above)
    for place in (above, y):
        page.mouse.dblclick(x, place)
        page.wait_for_timeout(600)  # sleeps: the page stays where it is
    assert "at=" not in page.url


def test_a_figure_is_never_drawn_in_plotlys_own_white(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1", scheme="dark")
    expect(page.locator("#plan-graph")).to_be_visible()
    page.evaluate(
        """() => { window.papers = new Set();
          const look = () => {
            for (const paper of document.querySelectorAll(".main-svg"))
              if (paper.getBoundingClientRect().width) papers.add(paper.style.background);
            for (const title of document.querySelectorAll(".xtick text"))
              if (title.textContent === "−1") papers.add("placeholder axis");
            requestAnimationFrame(look);
          };
          look(); }"""
    )
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_selector(".main-svg")
    page.keyboard.press("g")
    page.keyboard.press("t")
    drawn(page)
    assert page.evaluate("[...papers]") in (["rgba(0, 0, 0, 0)"], ["rgba(0, 0, 0, 0)", ""])


def test_a_figure_travels_once(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1")
    expect(page.locator("#plan-graph")).to_be_visible()
    until(page, "document.getElementById('pw-shell').dataset.painting === '0'")
    page.evaluate(
        """() => { window.figures = 0;
          const ask = window.fetch;
          window.fetch = async (...wanted) => {
            const answer = await ask(...wanted);
            answer.clone().text().then((text) => {
              figures += text.includes('"uirevision":"timeline"') ? 1 : 0;
            });
            return answer;
          }; }"""
    )
    page.keyboard.press("g")
    page.keyboard.press("t")
    drawn(page)
    painted(page)
    assert page.evaluate("window.figures") == 1


RANGE = (
    f"{PLOT}._fullLayout.xaxis.range.map(text => Date.parse(text.replace('Z', '') + 'Z') / 1000)"
)


def test_all_figures_show_the_range_of_the_address(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1&span=100-140"))
    until(page, f"(() => {{ const [a, b] = {RANGE}; return Math.abs(b - a - 20) < 1; }})()")
    ranges = (
        "[...document.querySelectorAll('[data-live-chart] .js-plotly-plot')]"
        ".filter(gd => gd._fullLayout && gd._fullLayout.xaxis.type === 'date')"
        ".map(gd => gd._fullLayout.xaxis.range.join())"
    )
    until(page, f"new Set({ranges}).size === 1")
    page.evaluate(
        f"Plotly.relayout({PLOT}, {{'xaxis.range[0]': {PLOT}.data[0].x[20],"
        f" 'xaxis.range[1]': {PLOT}.data[0].x[60]}})"
    )
    expect(page).to_have_url(re.compile(r"span=(19|20)-(59|60)"))
    until(page, f"new Set({ranges}).size === 1")
    page.get_by_label("Time range").select_option("run")
    until(page, f"{PLOT}._fullLayout.xaxis.autorange === true")


def test_what_is_zoomed_has_a_reset_that_the_keyboard_reaches(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1&span=100-140"))
    panel = page.locator("#pw-timeline")
    button = panel.get_by_role("button", name="Reset zoom")
    expect(button).to_be_visible()
    expect(page.locator("#pw-ledger").get_by_role("button", name="Reset zoom")).to_be_visible()
    button.focus()
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile("span=|at="))
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)
    until(page, f"{PLOT}._fullLayout.xaxis.autorange === true")
    assert page.evaluate("document.activeElement.closest('#pw-timeline') !== null")


def test_charts_over_batches_have_it_too(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&span=100-140")
    resets = page.get_by_role("button", name="Reset zoom")
    expect(resets).to_have_count(2)
    expect(page.locator("#plan-visits svg")).to_have_attribute(
        "aria-label", re.compile("batches 100 to 140,")
    )
    resets.first.click()
    expect(resets).to_have_count(0)
    expect(page.locator("#plan-visits svg")).to_have_attribute(
        "aria-label", re.compile("batches 0 to 199,")
    )


def test_a_figure_over_something_else_is_zoomed_and_reset_by_itself(open_page: OpenPage) -> None:
    page = open_page("/compare?run=r1")
    figure = "document.querySelector('#pw-compare .js-plotly-plot')"
    until(page, f"!!({figure} && {figure}._fullLayout)", SLOW_S)
    button = page.get_by_role("button", name="Reset zoom")
    expect(button).to_have_count(0)
    page.evaluate(f"Plotly.relayout({figure}, {{'xaxis.range': [20, 60]}})")
    button.click()
    expect(button).to_have_count(0)
    assert page.evaluate(f"{figure}._fullLayout.xaxis.autorange") is True
    assert "span=" not in page.url


def test_the_only_batch_has_an_axis_one_can_read(open_page: OpenPage, site: Site) -> None:
    record(site.writer, "one", 1, time.time() - 40_000)
    page = drawn(open_page("/timeline?run=one"))
    ticks = f"[...{PLOT}.querySelectorAll('.xtick text')].map(tick => tick.textContent)"
    until(page, f"{ticks}.length > 1")
    told = page.evaluate(ticks)
    assert len(set(told)) == len(told)
    assert all(re.fullmatch(r"[0-9:]{8}", words) for words in told)


def test_a_few_huge_batches_do_not_flatten_the_rest(open_page: OpenPage) -> None:
    page = drawn(open_page("/timeline?run=r1"))
    batch = f"{PLOT}.data.findIndex(trace => trace.meta && trace.meta.live === 'system|batch_ms')"
    page.evaluate(
        f"(() => {{ const i = {batch}, y = [...{PLOT}.data[i].y]; y[0] = 28000;"
        f" Plotly.restyle({PLOT}, {{y: [y]}}, [i]); }})()"
    )
    axis = f"{PLOT}._fullLayout[{PLOT}.data[{batch}].yaxis.replace('y', 'yaxis')]"
    until(page, f"{axis}.range[1] < 300")
    expect(page.locator("#pw-scale-note")).to_have_text("1 point lies above the scale")
    page.get_by_role("button", name="full", exact=True).click()
    until(page, f"{axis}.range[1] > 20000")
    page.get_by_role("button", name="log", exact=True).click()
    until(page, f"{axis}.type === 'log'")
    assert "scale=log" in page.url
