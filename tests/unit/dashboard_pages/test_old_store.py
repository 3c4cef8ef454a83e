"""The pages on a store of the first version: after its upgrade every page lays out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import plotly
import pytest

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.pages import PAGES
from dashboard.panels.facts import read_facts
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from storage.store import open_engine_writer, open_reader
from tests.contract import old_store


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    path = str(tmp_path_factory.mktemp("old") / "planwatch.db")
    old_store.write(path)
    open_engine_writer(path).close()
    with open_reader(path) as reader:
        yield Services(reader, None, Settings(path, "a-token-for-tests"), Hub(reader))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.label)
@pytest.mark.parametrize("run", ["golden", "packets"])
@pytest.mark.parametrize("at", [None, 1])
def test_every_page_lays_out(page: Any, run: str, at: int | None, climbed: Services) -> None:
    for node in (None, "asc:origin", "filter:table", "queue:source"):
        context = contexts.resolve(climbed.reader, Moment(run=run, at=at, node=node))
        page.has_records(read_facts(context, climbed.reader))
        found = page.layout(context, climbed)
        assert json.dumps(found, cls=plotly.utils.PlotlyJSONEncoder)
