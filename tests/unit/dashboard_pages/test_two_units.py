"""A run of two units over two streams: every page tells them apart, by roles and units alone."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly
import pytest

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.pages import (
    DECISIONS,
    KNOBS,
    MATRIX,
    PAGES,
    PLAN_LOG,
    RESULTS,
    RUNS,
    TIMELINE,
    all_pages,
    plan,
)
from dashboard.pages.contract import Page
from dashboard.pages.plan_facts import read
from dashboard.panels import all_panels, frame
from dashboard.panels.common import timeline
from dashboard.panels.facts import read_facts, scope_of
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from dashboard.systems import cals
from dashboard.views.plan import plan_nodes
from dashboard.web.shell import read_snapshot
from storage.reader import open_reader
from storage.vocabulary.records import Unit
from storage.writer import open_engine_writer
from tests import two_units
from tests.two_units import FLIGHTS, PACKETS, RUN
from tests.web.recorded_cals import BEGINS, CalsRecording
from tests.web.recorded_cals import RUN as RECORDED
from tests.web.recorded_cals import UNIT as SHEDDING


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    path = tmp_path_factory.mktemp("two") / "planwatch.db"
    two_units.write(path)
    with open_reader(str(path)) as reader:
        yield Services(reader, None, Settings(str(path), "a-token-for-tests"), Hub(reader))


def text_of(page: Page, services: Services, run: str = RUN, **moment: Any) -> str:
    context = contexts.resolve(services.reader, Moment(run=run, **moment))
    found = page.layout(context, services)
    return json.dumps(found, cls=plotly.utils.PlotlyJSONEncoder, ensure_ascii=False)


def shown(page: Page, services: Services, **moment: Any) -> set[str]:
    """Names of the panels of a page at a moment."""
    text = text_of(page, services, **moment)
    return {panel.name for panel in page.panels if f'"pw-{panel.name}-box"' in text}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
@pytest.mark.parametrize("unit", ["", FLIGHTS.id, PACKETS.id, "gone"])
def test_every_page_lays_out_for_every_unit(page: Page, unit: str, services: Services) -> None:
    for at in (None, 0, 3):
        assert text_of(page, services, unit=unit, at=at)
    context = contexts.resolve(services.reader, Moment(run=RUN))
    assert page.has_records(read_facts(context, services.reader)) == (page is not PLAN_LOG)


def test_the_matrix_page_shows_the_panels_of_the_chosen_unit(services: Services) -> None:
    first = shown(MATRIX, services)
    assert first == shown(MATRIX, services, unit=FLIGHTS.id) == {"selectivity", "regions"}
    other = shown(MATRIX, services, unit=PACKETS.id)
    assert other == {"view", "race", "check", "near", "overhead"}
    text = text_of(MATRIX, services)
    assert FLIGHTS.title in text
    assert PACKETS.title in text
    assert f"unit={PACKETS.id}" in text


def test_a_page_of_one_system_opens_on_the_first_unit_that_it_shows(tmp_path: Path) -> None:
    path, other = tmp_path / "planwatch.db", Unit("a", "stream", "Whole answers", ("H",), ("warm",))
    with open_engine_writer(str(path)) as writer:
        record = CalsRecording(writer, time.time(), others=(other,))
        record.begin()
        for _ in range(BEGINS + 1):
            record.write()
    (page,) = cals.FACE.pages
    with open_reader(str(path)) as reader:
        services = Services(reader, None, Settings(str(path), "a-token-for-tests"), Hub(reader))
        assert [unit.id for unit in reader.units(RECORDED)] == [other.id, SHEDDING.id]
        opened = shown(page, services, run=RECORDED)
        assert opened == shown(page, services, run=RECORDED, unit=SHEDDING.id) >= {"shed-windows"}
        assert shown(page, services, run=RECORDED, unit=other.id) == set()
        text = text_of(page, services, run=RECORDED)
        (current,) = re.findall(r'[^{}]*"aria-current": "true"[^{}]*', text)
        assert f'"data-pw-unit": "{SHEDDING.id}"' in current


def test_the_plan_page_draws_the_plans_of_all_units_as_one_graph(services: Services) -> None:
    context = contexts.resolve(services.reader, Moment(run=RUN))
    facts = read(services.reader, context)
    assert facts.plan is not None
    nodes = {node.name: node for node in plan_nodes(facts.plan) if node.role == "step"}
    assert {name: (node.unit, node.position) for name, node in nodes.items()} == {
        "origin": (FLIGHTS.title, 1),
        "delay": (FLIGHTS.title, 2),
        "port": (PACKETS.title, 1),
        "size": (PACKETS.title, 2),
    }
    tables = ("pw-plan-twin",)
    text, show = text_of(plan.PAGE, services, tables=tables), "o-Packets"
    assert f"{FLIGHTS.title}: Constructs of the plan" in text
    assert f"{PACKETS.title}: Filters of the plan" in text
    named = [one.name for one in facts.outputs]
    assert named == ["Output of Flights", "Output of Packets"]
    narrowed = read(services.reader, contexts.resolve(services.reader, Moment(RUN, show=show)))
    assert [title for title, _ in narrowed.units] == [PACKETS.title]
    assert "Constructs of the plan" not in text_of(plan.PAGE, services, show=show, tables=tables)


def test_decisions_of_one_number_are_those_of_the_unit_in_the_address(services: Services) -> None:
    flights = text_of(DECISIONS, services, unit=FLIGHTS.id, node="1")
    packets = text_of(DECISIONS, services, unit=PACKETS.id, node="1")
    assert "It moved enough." in flights
    assert "The ranks are in order." not in flights
    assert "The ranks are in order." in packets
    assert "It moved enough." not in packets
    assert f"unit={FLIGHTS.id}" in flights


def test_knobs_stand_under_the_unit_they_belong_to(services: Services) -> None:
    text = text_of(KNOBS, services)
    assert FLIGHTS.title in text
    assert PACKETS.title in text
    cards = re.findall(r'"place": "page", "name": "(\w+)", "scope": "(\w*)"', text)
    assert set(cards) == {("rate", ""), ("mu", "u1"), ("mu", "u2"), ("alpha", "u2")}


def test_results_and_misfits_name_their_stream(services: Services) -> None:
    text = text_of(RESULTS, services, node="q-busy")
    assert '"late"' in text
    assert '"busy"' in text
    assert "not JSON" in text
    assert '"Packets"' in text
    assert '"port"' in text, "the columns are those of the query's own stream"


def test_events_of_another_unit_are_named_after_it(services: Services) -> None:
    context = contexts.resolve(services.reader, Moment(run=RUN, unit=FLIGHTS.id))
    panel = next(panel for panel in TIMELINE.panels if panel.name == "timeline")
    scope = scope_of(panel, context, services.reader)
    built = timeline.build(services.reader, context, scope)
    titles = {(marker.kind, marker.title) for marker in built.view.markers}
    assert titles == {
        ("rearrangement", "Plan 2: origin before delay"),
        ("held back", "Filters of busy: below threshold"),
        ("input", "Packets failed"),
    }


def test_a_failed_input_says_so_in_the_header_and_in_the_table(services: Services) -> None:
    context = contexts.resolve(services.reader, Moment(run=RUN))
    snapshot = read_snapshot(services, context, [])
    assert snapshot.run is not None
    assert snapshot.run["stream"] == "Flights, Packets (failed)"
    text = text_of(RUNS, services)
    assert "the socket was closed" in text
    before = text_of(RUNS, services, at=2)
    assert "the socket was closed" not in before


def test_the_names_of_panels_are_unique_and_their_pages_exist() -> None:
    names = [panel.name for panel in all_panels()]
    assert len(names) == len(set(names))
    assert {panel.page for panel in all_panels()} <= {page.path for page in all_pages()}


def test_a_view_that_came_out_the_same_is_not_sent_again(services: Services) -> None:
    context = contexts.resolve(services.reader, Moment(run=RUN))
    for panel in DECISIONS.panels:
        scope = scope_of(panel, context, services.reader)
        built = [panel.build(services.reader, context, scope) for _ in range(2)]
        marks = {
            frame.fingerprint(panel, view, frame.sheet_of(context, services)) for view in built
        }
        assert len(marks) == 1
