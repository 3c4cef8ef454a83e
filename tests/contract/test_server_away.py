"""A database server that goes away for a while: nothing is lost, nothing is written twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from storage import writer as store_writer
from storage.errors import StoreAway
from storage.store import open_engine_writer, open_reader
from tests.contract import postgres
from tests.contract.store_builders import new_run, record


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    """A server of its own, which may be stopped."""
    try:
        postgres.programs()
    except postgres.NoPostgres as missing:
        pytest.fail(str(missing), pytrace=False)
    with postgres.server() as running:
        yield running


def test_the_engine_waits_and_readers_say_so(
    server: postgres.Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = server.database()
    with open_engine_writer(url) as writer, open_reader(url) as reader:
        writer.begin_run(new_run())
        writer.write_batch(record(0))
        server.stop()
        with pytest.raises(StoreAway, match="cannot be reached; start it, or check --store"):
            reader.runs()
        again = threading.Timer(2.0, server.start)
        again.start()
        assert writer.write_batch(record(1))
        assert not writer.write_batch(record(1))
        again.join()
        assert writer.pending_commands("r1") == ()
        assert "cannot be reached; waiting for the database server" in caplog.text
        assert [batch.id for batch in reader.batches("r1")] == [0, 1]
        server.stop()
        monkeypatch.setattr(store_writer, "PATIENCE_S", 0.5)
        with pytest.raises(StoreAway):
            writer.pending_commands("r1")
        server.start()
