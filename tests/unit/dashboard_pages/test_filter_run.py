"""The pages on a recorded run of pipelined filters: every page lays out, now and at a moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import plotly
import pytest

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.pages import PAGES
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from storage.reader import open_reader
from tests.engine_runs import RUN_ID
from tests.unit.dashboard_pages.figures import checked, figures_in
from tests.unit.engine.test_filter_loop import Bench, id_of


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    path = tmp_path_factory.mktemp("filters") / "planwatch.db"
    bench = Bench(path)
    for turn in range(6):
        if turn == 4:
            bench.ask("knob", {"knob": "filter_algorithm", "value": "sweep"})
        bench.random_batch()
    bench.close()
    with open_reader(str(path)) as reader:
        yield Services(reader, None, Settings(str(path), "a-token-for-tests"), Hub(reader))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
@pytest.mark.parametrize("at", [None, 3])
@pytest.mark.parametrize("node", [None, id_of("filter", "busy"), id_of("queue", "rare")])
def test_every_page_lays_out(
    page: Any, at: int | None, node: str | None, recorded: Services
) -> None:
    moment = Moment(run=RUN_ID, at=at, node=node)
    found = page.layout(contexts.resolve(recorded.reader, moment), recorded)
    assert json.dumps(found, cls=plotly.utils.PlotlyJSONEncoder)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
def test_every_figure_obeys_plotlys_schema(page: Any, recorded: Services) -> None:
    context = replace(contexts.resolve(recorded.reader, Moment(run=RUN_ID)), theme="dark")
    assert all(checked(figure) for figure in figures_in(page.layout(context, recorded)))
