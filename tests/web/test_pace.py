"""Hold, step and speed in the header, by buttons and keys, over a real engine that waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from storage.vocabulary.records import Command
from tests.web.conftest import OpenPage, until_asked
from tests.web.site import Site
from tests.web.stream_run import StreamRun

pytestmark = pytest.mark.web
RUN = "paced"


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> Iterator[StreamRun]:
    made = StreamRun(site.path, RUN).seconds(2)
    yield made
    made.close()


def answered(page: Page, run: StreamRun, n: int) -> Command:
    """The newest request, once there are n, with the engine's answer."""
    until_asked(page, run.reader, RUN, n)
    run.loop.idle()
    return run.reader.commands(RUN)[0]


@pytest.mark.parametrize("width", [1440, 1280])
def test_the_pace_of_a_run_fits_the_header(open_page: OpenPage, width: int) -> None:
    page = open_page(f"/plan?run={RUN}", width=width, height=800)
    expect(page.get_by_role("button", name="Pause the run")).to_be_visible()
    expect(page.locator("#pw-step")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    header = page.locator(".pw-header")
    assert header.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_a_run_is_held_stepped_and_sped_up(open_page: OpenPage, run: StreamRun) -> None:
    page = open_page(f"/plan?run={RUN}")
    expect(page.get_by_role("button", name="Pause the run")).to_be_visible()
    page.keyboard.press("h")
    assert answered(page, run, 1).state == "applied"
    expect(page.locator("#pw-run-state")).to_have_text("paused")
    expect(page.locator("#pw-age")).to_contain_text("paused by page")
    assert not run.loop.may_begin()
    page.get_by_role("button", name="One batch (n)").click()
    assert answered(page, run, 2).payload == {"of": "batch"}
    assert run.loop.may_begin()
    expect(page.get_by_role("button", name="One scheduling decision")).to_be_hidden()
    page.keyboard.press("d")  # workers decide: nothing is asked
    page.keyboard.press(">")
    assert answered(page, run, 3).payload == {"knob": "speed", "value": 2.0, "scope": ""}
    expect(page.get_by_label("Speed of replayed streams")).to_have_value("2")
    page.get_by_role("button", name="Resume the run (h)").click()
    assert answered(page, run, 4).kind == "go_on"
    expect(page.get_by_role("button", name="Pause the run")).to_be_visible()
    expect(page.locator("#pw-run-state")).not_to_have_text("paused")
