"""Recordings as files, compressed and not."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from storage.errors import NotAStore, StoreError
from storage.reader import open_reader
from storage.recordings import pack, unpacked
from storage.sql import Value
from tests import two_units


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    two_units.write(path)
    return path


def batches(path: Path) -> list[tuple[Value, ...]]:
    with open_reader(str(path)) as reader:
        return reader.ask("SELECT * FROM batches ORDER BY id", {}).rows


def test_a_compressed_export_opens_and_holds_the_same(store: Path, tmp_path: Path) -> None:
    plain, packed = tmp_path / "run.planwatch", tmp_path / "run.planwatch.gz"
    with open_reader(str(store)) as reader:
        reader.export_run(two_units.RUN, plain)
        reader.export_run(two_units.RUN, packed)
        with pytest.raises(StoreError, match="exists"):
            reader.export_run(two_units.RUN, packed)
    assert packed.stat().st_size < plain.stat().st_size / 3
    assert sorted(path.name for path in tmp_path.glob("*partial*")) == []
    with unpacked(packed) as copy:
        assert batches(copy) == batches(plain) == batches(store)
        assert copy != packed
    assert not copy.exists()


def test_what_is_not_compressed_is_opened_where_it_is(store: Path, tmp_path: Path) -> None:
    with unpacked(store) as path:
        assert path == store
    with unpacked(tmp_path / "nowhere") as path:
        assert path == tmp_path / "nowhere"


@pytest.mark.parametrize("damage", ["cut", "turned"])
def test_a_damaged_recording_is_said_to_be_so(store: Path, tmp_path: Path, damage: str) -> None:
    path, out = tmp_path / "bad.gz", io.BytesIO()
    with store.open("rb") as recording:
        pack(recording, out)
    content = bytearray(out.getvalue())
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(NotAStore, match=r"bad\.gz is damaged"), unpacked(path):
        pytest.fail("it was opened")


def test_the_same_recording_packs_to_the_same_bytes(store: Path) -> None:
    made = []
    for _ in range(2):
        out = io.BytesIO()
        with store.open("rb") as recording:
            pack(recording, out)
        made.append(out.getvalue())
    assert made[0] == made[1]
    assert gzip.decompress(made[0]) == store.read_bytes()
