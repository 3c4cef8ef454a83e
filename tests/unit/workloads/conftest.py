"""The flights, prepared once for all tests that read them, and feeders that stop with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.workloads.replay import Feeder, ReplaySource
from tests.unit.workloads.feeding import Speed


@pytest.fixture(scope="session")
def flights_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder; the first test to use it pays for building the flights."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def feeders(tmp_path: Path) -> Iterator[Callable[..., Feeder]]:
    """Starts a feeder of a source; none of them may have an error at the end."""
    made: list[Feeder] = []

    def feed(source: ReplaySource, speed: Speed, **options: Any) -> Feeder:
        feeder = Feeder(
            source,
            tmp_path / "spool",
            lambda: speed.rate,
            lambda: speed.at_end,
            tick_s=0.02,
            **options,
        )
        made.append(feeder)
        feeder.start()
        return feeder

    yield feed
    for feeder in made:
        feeder.stop()
        assert feeder.error is None
