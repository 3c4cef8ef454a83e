"""The Plan log page: looks on two statistics, chosen in the address; a click goes to a look."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, until
from tests.web.engine_run import SelectionRun
from tests.web.site import ENDED, Site

pytestmark = pytest.mark.web
PLOT = "document.querySelector('#pw-plan-log-graph .js-plotly-plot')"
LOOKS = f"{PLOT}.data.filter(trace => trace.meta && trace.meta.plan)"


@pytest.fixture(scope="module", autouse=True)
def looks(site: Site) -> int:
    """Looks of a run under the autopilot, beside the recorded ones."""
    run = SelectionRun(site.path, "looks", policy="autopilot").drift()
    n = len(run.reader.looks("looks"))
    run.close()
    return n


def drawn(page: Page) -> Page:
    """Wait for the figure."""
    until(page, f"!!({PLOT} && {PLOT}.data && {LOOKS}.length)")
    return page


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_every_look_is_a_point_and_a_click_goes_there(
    open_page: OpenPage, looks: int, scheme: str, width: int, height: int
) -> None:
    page = drawn(open_page("/planlog?run=looks", scheme=scheme, width=width, height=height))
    assert page.evaluate(f"{LOOKS}.flatMap(trace => trace.x).length") == looks > 3
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    expect(page.locator("#pw-plan-shares-body, #pw-plan-shares")).not_to_have_count(0)
    spot, batches = page.evaluate(
        f"(() => {{ const trace = {LOOKS}[0], {{ xaxis, yaxis }} = {PLOT}._fullLayout;"
        f" const frame = {PLOT}.getBoundingClientRect();"
        " const x = frame.left + xaxis._offset + xaxis.d2p(trace.x[0]);"
        " const y = frame.top + yaxis._offset + yaxis.d2p(trace.y[0]);"
        " return [[x, y], trace.customdata.map((each) => each[0])]; })()"
    )
    page.mouse.move(*spot)
    until(page, f"{PLOT}._hoverdata?.length")
    page.mouse.click(*spot)
    until(page, "new URLSearchParams(location.search).has('at')")
    assert int(page.evaluate("new URLSearchParams(location.search).get('at')")) in batches


def test_the_statistics_are_chosen_in_the_address(open_page: OpenPage) -> None:
    page = drawn(open_page("/planlog?run=looks"))
    across, up = page.get_by_label("Statistic across"), page.get_by_label("Statistic up")
    before = (across.input_value(), up.input_value())
    across.select_option(before[1])  # the two change places
    until(page, f"{PLOT}.layout.xaxis.title.text.startsWith({before[1]!r})")
    expect(up).to_have_value(before[0])
    assert page.evaluate("new URLSearchParams(location.search).get('show')") == "~".join(
        reversed(before)
    )
    menu = page.locator("nav [data-pw-path='/planlog']")
    expect(menu).to_be_visible()
    page.goto(page.url.partition("/planlog")[0] + f"/plan?run={ENDED}")
    expect(page.locator("nav [data-pw-path='/plan']")).to_be_visible()
    expect(menu).to_be_hidden()


def test_the_page_is_of_the_range_brushed_on_the_strip_until_a_click_clears_it(
    open_page: OpenPage, looks: int
) -> None:
    page = drawn(open_page("/planlog?run=looks"))
    line, note = page.locator("#pw-plan-log .pw-log-range"), page.locator("#pw-plan-shares-note")
    expect(line).to_have_count(0)
    box = page.locator(".pw-brush").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    until(page, "/^\\d+-\\d+$/.test(new URLSearchParams(location.search).get('span'))")
    first, last = page.evaluate("new URLSearchParams(location.search).get('span')").split("-")
    words = f"batches {first} to {last}"
    expect(line).to_contain_text(f"Of {words}: ")
    expect(note).to_contain_text(words)
    whole, shown = f"{LOOKS}.flatMap(trace => trace.marker.opacity)", "filter(each => each === 1)"
    until(page, f"0 < {whole}.{shown}.length && {whole}.{shown}.length < {looks}")
    again = open_page(page.url[page.url.index("/planlog") :])
    expect(again.locator("#pw-plan-shares-note")).to_contain_text(words)
    page.get_by_role("button", name="Show the whole run").click()
    expect(line).to_have_count(0)
    expect(note).not_to_contain_text("batches")
    until(page, f"{whole}.{shown}.length === {looks}")
