"""What is drawn together: of one instant of the store, and read once."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import event

from dashboard.systems.asc.replay import trials_of
from storage.errors import StoreError
from storage.one_moment import MomentReader
from storage.reader import Reader, open_reader
from storage.writer import EngineWriter, open_engine_writer
from tests.contract.store_builders import begin, record


def test_a_page_sees_one_instant_however_long_it_is_drawn(
    writer: EngineWriter, reader: Reader
) -> None:
    begin(writer, "one")
    writer.write_batch(record(0, run_id="one"))
    with MomentReader(reader) as shown:
        assert shown.last_batch("one") == 0
        writer.write_batch(record(1, run_id="one"))
        assert shown.last_batch("one") == 0
        assert [found.id for found in shown.batches("one")] == [0]
        assert reader.last_batch("one") == 1
    with MomentReader(reader) as shown:
        assert [found.id for found in shown.batches("one")] == [0, 1]


def test_nothing_is_read_twice(writer: EngineWriter, reader: Reader) -> None:
    begin(writer, "twice")
    asked: list[str] = []
    event.listen(reader._engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    with MomentReader(reader) as shown:
        first = shown.units("twice"), shown.decisions("twice", verdicts=["switched"])
        n_asked = len(asked)
        assert n_asked
        assert (shown.units("twice"), shown.decisions("twice", verdicts=["switched"])) == first
        assert len(asked) == n_asked
        shown.decisions("twice", verdicts=["hold"])
        assert len(asked) > n_asked


def test_a_store_that_fails_says_so(tmp_path: Path) -> None:
    address = tmp_path / "run.db"
    with open_engine_writer(str(address)) as writer:
        begin(writer, "r")
    with open_reader(str(address)) as reader:
        for path in tmp_path.iterdir():
            path.write_bytes(b"no store any more")
        with pytest.raises(StoreError, match=r"run\.db"), MomentReader(reader) as shown:
            shown.units("r")


def test_what_is_remembered_outlives_the_moment_that_asked(
    writer: EngineWriter, reader: Reader
) -> None:
    begin(writer, "kept")
    writer.write_batch(record(0, run_id="kept"))
    asked: list[str] = []
    event.listen(reader._engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    for _ in range(2):
        with MomentReader(reader) as shown:
            assert shown.base is reader
            assert trials_of(shown, "kept", None, None) == ()
    assert sum("outcomes" in statement for statement in asked) == 1
