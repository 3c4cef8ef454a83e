"""Real stores with a recorded run in them, and the application on them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dash
from flask import Flask
from flask.testing import FlaskClient

from dashboard.serving.security import CSRF_HEADER
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from dashboard.web.app import create_app
from dashboard.web.server import close_services, open_services
from storage.store import EngineWriter, open_engine_writer
from tests.web.recorded import Recording

TOKEN = "a-token-for-these-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
N_BATCHES = 80


@dataclass
class Site:
    """An application on a store, with the engine's side at hand."""

    services: Services
    app: dash.Dash
    recording: Recording
    writer: EngineWriter

    def browser(self) -> FlaskClient:
        """A fresh browser on this machine."""
        server: Flask = self.app.server
        return server.test_client()

    def answer_commands(self) -> None:
        """What the engine does at a batch boundary."""
        self.recording.write(time.time(), self.writer.pending_commands("r1"))


def record(path: Path, n_batches: int) -> None:
    """Make a store with the running run r1."""
    with open_engine_writer(str(path)) as writer:
        recording = Recording(writer, "r1", time.time() - 100)
        recording.begin()
        for _ in range(n_batches):
            recording.write()


@contextmanager
def open_site(folder: Path, **options: Any) -> Iterator[Site]:
    """A fresh store with three batches of the running run r1; options: of the settings."""
    settings = replace(Settings(str(folder / "runs.db"), TOKEN), **options)
    with open_engine_writer(settings.store_url) as writer:
        recording = Recording(writer, "r1", time.time() - 10)
        recording.begin()
        for _ in range(3):
            recording.write()
        services = open_services(settings)
        yield Site(services, create_app(services), recording, writer)
        close_services(services)


@contextmanager
def open_recording(path: Path) -> Iterator[dash.Dash]:
    """The application on a recorded store, read-only."""
    services = open_services(Settings(str(path), TOKEN, replay=True))
    yield create_app(services)
    close_services(services)


def csrf(browser: FlaskClient) -> dict[str, str]:
    """The header a page of this browser sends with a change."""
    token = browser.get("/api/v1/csrf").get_json()["token"]
    return {CSRF_HEADER: token}
