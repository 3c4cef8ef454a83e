"""An edge is tapped on the Plan page: live, in replay, and one of its rows is followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from storage.reader import Reader
from tests.web.axe import violations
from tests.web.conftest import Ask, OpenPage
from tests.web.site import Site
from tests.web.stream_run import UNIT, StreamRun

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "trips"
TAP = "#pw-tap"
VIEWS = [("light", 1440, 900), ("dark", 1280, 720)]


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> Iterator[StreamRun]:
    """The running run; nobody has looked."""
    made = StreamRun(Path(site.path), RUN).seconds(3)
    yield made
    made.close()


def queue_to(reader: Reader, role: str) -> str:
    """The first edge to an operator of a role."""
    graph = reader.plans_at(RUN)[UNIT].graph
    roles = {node["id"]: node["role"] for node in graph["nodes"]}
    queues = [edge["queue"] for edge in graph["edges"] if edge["queue"]]
    targets = [roles[edge["target"]] for edge in graph["edges"] if edge["queue"]]
    return str(queues[targets.index(role)])


def until_tapped(page: Page, reader: Reader, batch: int, n: int) -> None:
    """Wait until the engine was asked n times."""
    for _ in range(400):
        if len([one for one in reader.commands(RUN, taps=True) if one.kind == "tap"]) >= n:
            return
        page.wait_for_timeout(50)  # sleeps: asked again
    pytest.fail(f"nobody asked for taps at batch {batch}")


@pytest.mark.parametrize(("scheme", "width", "height"), VIEWS)
def test_a_selected_edge_is_tapped_live_and_a_row_is_followed(
    open_page: OpenPage, site: Site, run: StreamRun, scheme: str, width: int, height: int
) -> None:
    queue, asked = queue_to(site.reader, "aggregate"), len(site.reader.commands(RUN, taps=True))
    page = open_page(
        f"/plan?run={RUN}&node={quote(queue)}", scheme=scheme, width=width, height=height
    )
    until_tapped(page, site.reader, run.batch_id, asked + 1)
    run.loop.idle()
    run.seconds()
    batch = run.batch_id - 1
    panel = page.locator(TAP)
    expect(panel).to_contain_text(f"(batch {batch}, 20 of")
    rows = panel.locator("tbody tr")
    expect(rows).to_have_count(20)
    rows.nth(0).get_by_role("button", name="follow").click()
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "frozen")
    way = panel.locator(".pw-tap-way")
    expect(way).to_be_visible()
    expect(panel.get_by_role("button", name="follow", pressed=True)).to_have_count(1)
    assert not violations(page, TAP)


def test_a_batch_in_which_nobody_looked_names_the_nearest(open_page: OpenPage, site: Site) -> None:
    queue = queue_to(site.reader, "aggregate")
    page = open_page(f"/plan?run={RUN}&at=0&node={quote(queue)}")
    panel = page.locator(TAP)
    expect(panel).to_contain_text("Not tapped in batch 0. The nearest that was: batch 3.")
    panel.get_by_role("link", name="close").click()
    expect(panel).to_be_hidden()
    page.evaluate("queue => window.planwatch.go({ node: queue })", queue)
    panel.get_by_role("link", name="batch 3").click()
    expect(panel).to_contain_text("(batch 3, 20 of")
    way, rows = panel.locator(".pw-tap-way"), panel.locator("tbody tr")
    rows.nth(0).get_by_role("button", name="follow").click()
    expect(way).to_be_visible()
    rows.nth(0).get_by_role("button", name="follow").click()
    expect(way).to_have_count(0)


def test_nothing_is_asked_where_no_edge_is_selected(
    open_page: OpenPage, site: Site, run: StreamRun
) -> None:
    before = site.reader.commands(RUN, taps=True)
    page = open_page(f"/plan?run={RUN}")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    run.seconds()
    expect(page.locator("#pw-strip-batch")).to_have_text(f"batch {run.batch_id - 1}")
    expect(page.locator(TAP)).to_be_hidden()
    assert site.reader.commands(RUN, taps=True) == before


def test_the_engine_is_asked_again_while_somebody_looks(ask: Ask) -> None:
    last = {"entity": "q", "run": "r", "batch": 5, "batches": 60}
    now = {"entity": "q", "run": "r", "batch": 8, "none": False}
    cases = [
        *((None, now), (last, now), (last, {**now, "entity": "p"}), (last, {**now, "run": "s"})),
        *(
            (last, {**now, "batch": 34}),
            (last, {**now, "batch": 35}),
            (last, {**now, "none": True}),
        ),
        ({**last, "batch": 6}, {**now, "none": True}),
    ]
    due = ask("page_tap", "cases.map((one) => m.isDue(...one))", cases=cases)
    assert due == [True, False, True, True, False, True, True, False]
    batches = ask("page_tap", "cases.map((one) => m.batchesFor(...one))", cases=cases)
    assert batches == [60, 120, 60, 60, 120, 120, 60, 60]
    assert (
        ask("page_tap", "m.batchesFor({ ...last, batches: 480 }, now)", last=last, now=now) == 600
    )
