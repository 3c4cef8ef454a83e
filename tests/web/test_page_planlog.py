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
