"""The flights, prepared once for all tests that read them."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def flights_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder; the first test to use it pays for building the flights."""
    return tmp_path_factory.mktemp("cache")
