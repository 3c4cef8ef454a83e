"""A real store with a recorded run in it, and the application on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dash
import pytest

from tests.unit.dashboard_server.site import N_BATCHES, Site, open_recording, open_site, record


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A fresh store with three batches of the running run r1, open for control."""
    with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dash.Dash]:
    """The application on a recording of 80 batches, read-only."""
    path = tmp_path_factory.mktemp("recording") / "runs.db"
    record(path, N_BATCHES)
    with open_recording(path) as app:
        yield app


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """As ``site``, but shared: for tests whose requests change nothing."""
    with open_site(tmp_path_factory.mktemp("quiet")) as opened:
        yield opened
