"""The Monitor page: graphs are added, followed, removed, and are in the address."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Ask, OpenPage, until
from tests.web.site import Site

pytestmark = pytest.mark.web


def test_a_graph_is_added_followed_and_removed(open_page: OpenPage, site: Site) -> None:
    page = open_page("/monitor")
    graphs = page.locator(".pw-monitor-graph")
    expect(graphs.first).to_be_visible()
    before = graphs.count()
    field = page.locator("#pw-monitor-add")
    choice = page.locator("#pw-monitor-choices option").first.get_attribute("value")
    field.fill(str(choice))
    expect(graphs).to_have_count(before + 1)
    assert "show=" in page.url
    expect(field).to_have_value("")
    page.reload()
    expect(graphs).to_have_count(before + 1)
    added = page.get_by_role("article", name=str(choice))
    added.get_by_role("link", name="Remove").click()
    expect(graphs).to_have_count(before)


def test_the_inspector_leads_to_a_graph(open_page: OpenPage, site: Site) -> None:
    page = open_page("/plan")
    cell = page.locator(".pw-properties td:has(a[data-pw-show])").first
    words = str(cell.get_attribute("title"))
    cell.locator("a").click()
    until(page, "location.pathname === '/monitor'")
    expect(page.locator(".pw-monitor-graph")).to_have_count(1)
    name = words.removeprefix("Watch ").removesuffix(" on the Monitor page")
    assert name in str(page.locator(".pw-monitor-graph").get_attribute("aria-label"))


def test_a_graph_of_what_is_not_there_says_so(open_page: OpenPage, site: Site) -> None:
    page = open_page("/monitor?show=nobody%7Cnothing")
    expect(page.locator(".pw-monitor-graph")).to_contain_text("No value is recorded yet")


def test_graphs_are_saved_under_a_name_shown_again_and_forgotten(
    open_page: OpenPage, site: Site
) -> None:
    page = open_page("/monitor?show=system%7Cbatch_ms=Batches~system%7Ctuples_per_s")
    page.get_by_role("button", name="Save these graphs").click()
    page.get_by_role("textbox", name="Save these graphs as").fill("Night watch")
    page.get_by_role("button", name="Save", exact=True).click()
    board = page.get_by_role("link", name="Night watch")
    expect(board).to_have_attribute("aria-current", "true")
    page.goto(f"{page.url.partition('?')[0]}?show=system%7Cbacklog_tuples")
    graphs = page.locator(".pw-monitor-graph")
    expect(graphs).to_have_count(1)
    board.click()
    expect(graphs).to_have_count(2)
    expect(graphs.first).to_contain_text("Batches")
    page.get_by_role("button", name="Forget the board Night watch").click()
    page.get_by_role("button", name="Forget it").click()
    expect(board).to_have_count(0)


def test_a_click_on_a_bar_goes_to_its_batch(open_page: OpenPage, site: Site) -> None:
    page = open_page("/monitor?run=r1")
    chart = page.locator("#pw-phases-graph .js-plotly-plot")
    chart.scroll_into_view_if_needed()
    plot = "document.querySelector('#pw-phases-graph .js-plotly-plot')"
    until(page, f"{plot} && {plot}._fullLayout && {plot}.data.length > 1")
    batch = page.evaluate(f"{plot}.data[0].x.at(-20)")
    spot = page.evaluate(
        f"(() => {{ const [gd, box] = [{plot}, {plot}.getBoundingClientRect()];"
        " const { xaxis, yaxis } = gd._fullLayout;"
        f" return [box.left + xaxis._offset + xaxis.d2p({batch}),"
        " box.top + yaxis._offset + yaxis._length - 20]; })()"
    )
    page.mouse.move(*spot)
    until(page, f"{plot}._hoverdata?.length")
    page.mouse.click(*spot)
    until(page, f"new URLSearchParams(location.search).get('at') === '{batch}'")
    expect(page.locator("#pw-phases-box")).to_contain_text(f"batch {batch} took")


@pytest.mark.parametrize(
    ("graph", "shown"), [("e|f", "a|b=Title~c|d~e|f"), ("a|b", "a|b=Title~c|d")]
)
def test_a_graph_is_added_to_those_that_are_drawn_once(ask: Ask, graph: str, shown: str) -> None:
    drawn = "<datalist id='pw-monitor-choices' data-base='a|b=Title~c|d'></datalist>"
    adding = "(document.body.innerHTML = drawn, m.addGraph(graph), location.search)"
    search = ask("page_monitor", adding, drawn=drawn, graph=graph)
    assert parse_qs(search.removeprefix("?"))["show"] == [shown]
