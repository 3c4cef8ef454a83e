"""Views and panels are drawn with the faces of all systems, as the application brings them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.base.face import use
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from dashboard.systems import FACES
from storage.reader import open_reader
from tests.web.engine_run import UNIT, SelectionRun

use(FACES)


@pytest.fixture
def piloted(tmp_path: Path) -> Iterator[Services]:
    """A run of the engine under the autopilot, whose stream changes."""
    run = SelectionRun(tmp_path / "run.db", "r1")
    run.ask("knob", {"knob": "policy", "value": "autopilot", "scope": UNIT})
    run.drift().close()
    with open_reader(str(tmp_path / "run.db")) as reader:
        settings = Settings(str(tmp_path / "run.db"), "a-token-for-tests")
        yield Services(reader, None, settings, Hub(reader))
