"""What would change the plan next, beside it and in the inspector: filters, networks and joins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from storage.reader import Reader
from storage.vocabulary.headroom import Headroom, read
from storage.vocabulary.records import Decision, Entity
from tests.web import joins_run, recorded_filters, stream_run
from tests.web.conftest import OpenPage
from tests.web.joins_run import JoinsRun
from tests.web.recorded_filters import FilterRecording
from tests.web.site import Site, serve
from tests.web.stream_run import StreamRun

pytestmark = pytest.mark.web
FILTERS, NETWORK, JOINS = "next-filters", "next-network", "next-joins"
UNITS = {FILTERS: recorded_filters.UNIT, NETWORK: stream_run.UNIT, JOINS: joins_run.UNIT}
#: What each says. Whether chains are cut otherwise depends on what operators took here, so those of
#: a network may be compared as a whole.
TOLD = {
    FILTERS: "overtakes .* if its drop probability rises by",
    NETWORK: "if it frees .* more elements/µs|other chains would queue|that gain",
    JOINS: "if its benefit (falls|rises) by",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store with the three running runs alone."""
    with serve(tmp_path_factory.mktemp("next"), empty=True) as served:
        path = Path(served.path)
        filters = FilterRecording(path, FILTERS)
        for _ in range(12):
            filters.write()
        network = StreamRun(path, NETWORK).seconds(3, times=40)
        joins = JoinsRun(path, JOINS, interval_tuples=1000).ticks(12)
        yield served
        for run in (filters, network, joins):
            run.close()


def nearest(reader: Reader, run: str) -> tuple[Decision, Headroom, Entity]:
    """The newest evaluation that says what would change the plan, what it says, and the part that
    would move; any part where the plan as a whole is meant."""
    own = [one for one in reader.entities(run) if one.unit_id == UNITS[run]]
    parts = {one.name: one for one in own}
    for entry in reader.decisions(run, limit=100, unit=UNITS[run]):
        for line in read(entry.decision.detail):
            if re.search(TOLD[run], line.words):
                part = parts[line.entity] if line.entity else operator_of(own)
                return entry.decision, line, part
    raise AssertionError(f"no evaluation of {run} says what would change its plan")


def operator_of(entities: list[Entity]) -> Entity:
    return next(one for one in entities if one.kind == "operator")


@pytest.mark.parametrize("run", UNITS)
def test_what_would_change_the_plan_is_told_beside_it_and_in_the_inspector(
    open_page: OpenPage, site: Site, run: str
) -> None:
    decision, line, part = nearest(site.reader, run)
    place = f"run={run}&unit={UNITS[run]}&at={decision.batch}&node={part.id}"
    page = open_page(f"/plan?{place}")
    panel = page.locator("#pw-headroom")
    expect(panel).to_contain_text(line.words, ignore_case=True)
    expect(page.locator("#plan-note")).to_contain_text("Next: ")
    expect(page.locator(".pw-inspector")).to_contain_text(line.words, ignore_case=True)
    panel.get_by_role("button", name="Table").click()
    expect(panel.locator("table")).to_contain_text(line.words, ignore_case=True)
    panel.get_by_role("link", name=f"#{decision.seq}", exact=True).first.click()
    expect(page).to_have_url(re.compile(rf"/decisions\?.*node={decision.seq}\b"))
