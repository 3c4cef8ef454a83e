"""Pages at moments whose own numbers were rolled up: they lay out, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.base.context import Moment
from dashboard.pages import DECISIONS, PAGES
from dashboard.panels import all_panels
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from storage.reader import open_reader
from storage.writer import open_engine_writer
from tests.unit.dashboard_pages.test_pages import laid_out
from tests.web.recorded import record

START, N_BATCHES, ROLLED_UP = 1000.0, 80, 60
PLAN = next(page for page in PAGES if page.path == "/plan")
RESULTS = next(page for page in PAGES if page.path == "/results")


@pytest.fixture(scope="module")
def pages_before_and_after(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[dict[str, str], Services]]:
    """The Decisions page before, and a store of which three quarters are rolled up."""
    path = str(tmp_path_factory.mktemp("rolled") / "planwatch.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        record(writer, "r1", N_BATCHES, START)
        services = Services(reader, None, Settings(path, "a-token-for-tests"), Hub(reader))
        before = {str(at): laid_out(DECISIONS, services, Moment("r1", at)) for at in (20, 79)}
        now = reader.batches("r1", ROLLED_UP, ROLLED_UP)[0].time
        assert writer.retention("r1", now, keep_raw_s=0.0)
        yield before, services


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
def test_every_page_lays_out(
    page: object, pages_before_and_after: tuple[dict[str, str], Services]
) -> None:
    for at in (0, 20, ROLLED_UP, None):
        assert laid_out(page, pages_before_and_after[1], Moment("r1", at))


def test_pages_say_over_what_their_numbers_are_averages(
    pages_before_and_after: tuple[dict[str, str], Services],
) -> None:
    _, services = pages_before_and_after
    found = services.reader.stretch("r1", 40)
    assert found is not None
    words = f"verages of 10 s, {found.n_batches} batches"
    for page in (PLAN, RESULTS):
        said = {at: words in laid_out(page, services, Moment("r1", at)) for at in (40, 79, None)}
        assert said == {40: True, 79: False, None: False}


def test_what_is_live_is_no_average_however_long_no_batch_came(tmp_path: Path) -> None:
    path = str(tmp_path / "planwatch.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        record(writer, "r1", 20, START)
        writer.retention("r1", START + 1e6, keep_raw_s=0.0)
        services = Services(reader, None, Settings(path, "a-token-for-tests"), Hub(reader))
        for at in (None, 19):
            assert "verages of" not in laid_out(PLAN, services, Moment("r1", at))
        assert "verages of" in laid_out(PLAN, services, Moment("r1", 5))


def test_the_list_of_decisions_is_that_of_before(
    pages_before_and_after: tuple[dict[str, str], Services],
) -> None:
    before, services = pages_before_and_after
    for at, words in before.items():
        after = laid_out(DECISIONS, services, Moment("r1", int(at)))
        for found in ("below threshold", "switched"):
            assert after.count(found) == words.count(found)


def test_the_records_behind_a_panel_are_found(
    pages_before_and_after: tuple[dict[str, str], Services],
) -> None:
    _, services = pages_before_and_after
    asked = [panel.sql for panel in all_panels() if "JOIN samples" in panel.sql]
    assert asked
    for at in (40, 79):
        answers = [services.reader.ask(sql, {"run": "r1", "at": at}) for sql in asked]
        assert any(answer.rows for answer in answers)
        for answer in answers:
            batches = [int(str(row[0])) for row in answer.rows]
            assert batches == sorted(batches, reverse=True)
