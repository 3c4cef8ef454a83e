"""What all tests share: markers by folder, reproducible random cases, one lazy Spark session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).resolve().parent
#: Everything below the folder carries its marker.
MARKED_FOLDERS = ("spark", "web", "house")
#: Left out when neither a marker nor a path is named.
SLOW_KINDS = "spark or web or slow or bench"

settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("random", deadline=None, print_blob=True, max_examples=1000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Our own options."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing with them; review the diff",
    )


def pytest_configure(config: pytest.Config) -> None:
    """A run without paths and markers is the quick one; hypothesis repeats its cases."""
    if config.getoption("--update-golden"):
        os.environ["PLANWATCH_GOLDEN"] = "update"
    if not config.getoption("hypothesis_profile", None):
        settings.load_profile("ci")
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if not named and not config.option.markexpr:
        config.option.markexpr = f"not ({SLOW_KINDS})"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of a folder that has a marker of its own."""
    for item in items:
        inside = item.path.relative_to(TESTS).parts if TESTS in item.path.parents else ()
        if inside and inside[0] in MARKED_FOLDERS:
            item.add_marker(inside[0])


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the run, as the product makes it for replayed streams; started when
    first asked for."""
    from backend.hosts.spark.session.session import build_session

    scratch = tmp_path_factory.mktemp("spark")
    session = build_session("local[2]", "planwatch-tests", scratch, is_quick=True)
    yield session
    session.stop()
