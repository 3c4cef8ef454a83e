"""A limit of memory turned down on a run that is at work, until it refuses and the run waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backend.model.ids import unit_entity
from tests.web.conftest import OpenPage, until_asked
from tests.web.site import Site
from tests.web.stream_run import UNIT, StreamRun

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "limited"
KNOB = "state_limit_bytes"


@pytest.fixture(scope="module", autouse=True)
def run(site: Site) -> Iterator[StreamRun]:
    """The running run, without a limit so far."""
    made = StreamRun(Path(site.path), RUN).seconds(3)
    yield made
    made.close()


def test_a_limit_turned_below_what_is_kept_refuses_and_the_run_waits(
    open_page: OpenPage, run: StreamRun
) -> None:
    used = int(run.reader.values(RUN)[unit_entity(UNIT)]["state_bytes"] or 0)
    page = open_page(f"/memory?run={RUN}")
    takes = page.locator("#pw-takes")
    expect(takes).to_contain_text("no limit")
    expect(takes.locator(".pw-takes-full")).to_have_count(0)
    card = takes.get_by_role("region", name=f"Knob {KNOB} of {UNIT}")
    card.get_by_label(KNOB, exact=True).fill(str(used // 2))
    card.get_by_role("button", name="Apply").click()
    expect(card).to_contain_text("pending")
    until_asked(page, run.reader, RUN, 1)
    run.seconds(1)
    assert not run.loop.may_begin()
    expect(takes.locator(".pw-takes-full")).to_have_count(1)
    expect(takes).to_contain_text("▲ it is at its limit: new queries are refused")
    page = open_page(f"/results?run={RUN}")
    page.get_by_role("textbox", name="Name").fill("more")
    page.get_by_role("textbox", name="CQL").fill("Select zone From Trips [Rows 5]")
    page.get_by_role("button", name="Register query").click()
    requests = page.locator(".pw-requests")
    expect(requests).to_contain_text("requested register more")
    until_asked(page, run.reader, RUN, 2)
    run.loop.idle()
    expect(requests).to_contain_text("refused register more")
    expect(requests).to_contain_text(f"{KNOB} allows {used // 2}")
