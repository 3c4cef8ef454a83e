"""The databases the store's contract is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from storage.reader import Reader, open_reader
from storage.writer import EngineWriter, open_engine_writer
from tests.contract import postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A PostgreSQL server of this test run; fails with what to install when there is none."""
    try:
        postgres.programs()
    except postgres.NoPostgres as missing:
        pytest.fail(str(missing), pytrace=False)
    with postgres.server() as running:
        yield running


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def new_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], str]:
    """Gives addresses of stores that do not exist yet, on each kind of database."""
    if request.param == "sqlite":
        return lambda: str(tmp_path_factory.mktemp("store") / "run.db")
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.database


@pytest.fixture
def store_url(new_store: Callable[[], str]) -> str:
    """The address of a store that does not exist yet."""
    return new_store()


@pytest.fixture(scope="module")
def address(new_store: Callable[[], str]) -> str:
    """The address of the store that the tests of a file share."""
    return new_store()


@pytest.fixture(scope="module")
def writer(address: str) -> Iterator[EngineWriter]:
    """Writes into the shared store."""
    with open_engine_writer(address) as opened:
        yield opened


@pytest.fixture(scope="module")
def reader(address: str, writer: EngineWriter) -> Iterator[Reader]:
    """Reads the shared store."""
    with open_reader(address) as opened:
        yield opened
