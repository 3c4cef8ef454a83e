"""The pages on a real store: every page lays out with a run, at a moment, and without any run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly
import pytest

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.base.face import faces
from dashboard.components.rows import jump_to
from dashboard.pages import DECISIONS, PAGES, PLAN_LOG
from dashboard.panels import all_panels
from dashboard.panels.common import timeline
from dashboard.panels.common.decisions import wanted_decision
from dashboard.panels.contract import Panel, PanelScope, RunFacts
from dashboard.panels.facts import read_facts
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from storage.reader import open_reader
from storage.writer import open_engine_writer
from tests.unit.dashboard_pages.figures import checked, figures_in
from tests.web.recorded import record


def services_on(path: Path, n_batches: int) -> Iterator[Services]:
    with open_engine_writer(str(path)) as writer:
        if n_batches:
            record(writer, "r1", n_batches, 1000.0)
            record(writer, "r2", n_batches, 2000.0, end=False)
    with open_reader(str(path)) as reader:
        yield Services(reader, None, Settings(str(path), "a-token-for-tests"), Hub(reader))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    yield from services_on(tmp_path_factory.mktemp("recorded") / "planwatch.db", 80)


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    yield from services_on(tmp_path_factory.mktemp("blank") / "planwatch.db", 0)


def as_text(component: Any) -> str:
    return json.dumps(component, cls=plotly.utils.PlotlyJSONEncoder, ensure_ascii=False)


def laid_out(page: Any, services: Services, moment: Moment) -> str:
    return as_text(page.layout(contexts.resolve(services.reader, moment), services))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
def test_a_store_without_a_run_says_how_to_get_one(page: Any, blank: Services) -> None:
    assert "python3 run.py" in laid_out(page, blank, Moment())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
def test_every_page_lays_out_at_any_moment(page: Any, recorded: Services) -> None:
    for at in (None, 0, 40):
        assert laid_out(page, recorded, Moment(run="r1", at=at))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
def test_every_figure_obeys_plotlys_schema(page: Any, recorded: Services) -> None:
    for theme in ("light", "dark"):
        context = replace(contexts.resolve(recorded.reader, Moment(run="r1")), theme=theme)
        figures = figures_in(page.layout(context, recorded))
        assert all(checked(figure) for figure in figures)
        assert page.has_figures or not figures


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
def test_pages_with_records_are_in_the_navigation(page: Any, recorded: Services) -> None:
    context = contexts.resolve(recorded.reader, Moment(run="r1"))
    has_looks = page is not PLAN_LOG
    assert page.has_records(read_facts(context, recorded.reader)) == has_looks


def test_a_system_has_no_page_for_what_the_autopilots_of_others_look_for() -> None:
    """Its page, with nothing on it, was in the navigation of every run with an autopilot."""
    facts = RunFacts(roles=frozenset({"operator"}), decided=True, looked=True)
    pages = [page for face in faces() for page in face.pages]
    assert pages
    assert not [page.path for page in pages if page.has_records(facts)]


def test_a_past_moment_knows_nothing_of_later_records(recorded: Services) -> None:
    early = laid_out(DECISIONS, recorded, Moment(run="r1", at=10))
    assert "#1 below threshold" in early
    assert "#2 below threshold" not in early


def test_a_replayed_timeline_is_whole_with_a_cursor_and_a_frozen_one_ends_there(
    recorded: Services,
) -> None:
    replayed = contexts.resolve(recorded.reader, Moment(run="r1", at=40))
    frozen = contexts.resolve(recorded.reader, Moment(run="r2", at=40, frozen=True))
    built = [timeline.build(recorded.reader, at, PanelScope()) for at in (replayed, frozen)]
    whole, held = (one.view for one in built)
    assert whole.panels[0].spot.batches[-1] == 79
    assert whole.cursor == recorded.reader.batches("r1", 40, 40)[0].time
    assert held.panels[0].spot.batches[-1] == 40
    assert all(marker.batch <= 40 for marker in held.markers)


@pytest.mark.parametrize(("node", "wanted"), [("7", 7), ("asc:a", None), ("", None), (None, None)])
def test_the_url_names_a_decision(node: str | None, wanted: int | None) -> None:
    assert wanted_decision(node) == wanted


def test_jumps_are_links_that_keep_the_rest_of_the_moment(recorded: Services) -> None:
    context = contexts.resolve(recorded.reader, Moment(run="r1", at=5, node="asc:origin"))
    jump = jump_to(context, "/matrix", at=9)
    assert jump == {"href": "/matrix?run=r1&at=9&node=asc%3Aorigin", "path": "/matrix", "at": "9"}
    assert jump_to(context, at="now")["href"] == "?run=r1&node=asc%3Aorigin"
    assert jump_to(context, "/plan", run="r2")["href"] == "/plan?run=r2"


def test_every_panel_with_a_title_has_the_query_behind_it() -> None:
    assert [panel.name for panel in all_panels() if panel.title and not panel.sql] == ["sql"]


@pytest.mark.parametrize(
    "panel", [one for one in all_panels() if one.sql], ids=lambda panel: str(panel.name)
)
def test_the_query_behind_a_panel_runs(panel: Panel[Any], recorded: Services) -> None:
    answer = recorded.reader.ask(panel.sql, {"run": "r1", "at": 60})
    context = contexts.resolve(recorded.reader, Moment(run="r1", at=60))
    meant = panel.applies(read_facts(context, recorded.reader))
    may_be_none = panel.name in (
        "alerts",
        "presets",
        "audit",
        "requests",
        "misfits",
        "market",
        "log",
        "ending",
        "tap",
    )
    assert answer.columns
    assert answer.rows or may_be_none or not meant


def test_a_panel_without_a_table_has_its_query_too(recorded: Services) -> None:
    [page] = [page for page in PAGES if page.path == "/knobs"]
    assert "pw-sql-link" in laid_out(page, recorded, Moment(run="r1"))
