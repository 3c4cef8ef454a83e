"""Recordings as files, compressed and not."""

from __future__ import annotations

import gzip
import io
import lzma
import resource
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from storage.errors import NotAStore, StoreError, StoreFull
from storage.exchange import recordings
from storage.exchange.recordings import pack, unpacked
from storage.reader import open_reader
from storage.reading.sql import Value
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


def test_a_recording_packed_by_xz_is_opened(store: Path, tmp_path: Path) -> None:
    packed = tmp_path / "run.xz"
    packed.write_bytes(lzma.compress(store.read_bytes()))
    with unpacked(packed) as copy:
        assert batches(copy) == batches(store)


def test_a_python_without_xz_says_so(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "run.xz"
    packed.write_bytes(lzma.compress(store.read_bytes()))
    monkeypatch.setattr(recordings, "READS_XZ", False)
    with pytest.raises(NotAStore, match=r"run\.xz is packed by xz"), unpacked(packed):
        pytest.fail("it was opened")


@pytest.mark.parametrize("ending", ["gz", "xz"])
@pytest.mark.parametrize("damage", ["cut", "turned"])
def test_a_damaged_recording_is_said_to_be_so(
    store: Path, tmp_path: Path, damage: str, ending: str
) -> None:
    path, out = tmp_path / f"bad.{ending}", io.BytesIO()
    with store.open("rb") as recording:
        pack(recording, out)
    packed = out.getvalue() if ending == "gz" else lzma.compress(store.read_bytes())
    content = bytearray(packed)
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(NotAStore, match=rf"bad\.{ending} is damaged"), unpacked(path):
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


ZEROS = 64 * 2**20


def header_of(store: Path, pages: int) -> bytes:
    """The first bytes of a store that says it has so many pages."""
    header = bytearray(store.read_bytes()[:100])
    header[28:32] = struct.pack(">I", pages)
    return bytes(header)


@contextmanager
def files_of_at_most(most: int) -> Iterator[None]:
    """The system refuses this process any longer file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("begin", ["zeros", "a store of many pages"])
def test_a_bomb_is_refused_before_it_is_unpacked(store: Path, tmp_path: Path, begin: str) -> None:
    """Zeros of any length pack to a thousandth; none of them reaches the disk."""
    path = tmp_path / "bomb.gz"
    header = header_of(store, ZEROS // 4096) if begin != "zeros" else b""
    path.write_bytes(gzip.compress(header + bytes(ZEROS)))
    refused = r"at most 300 times" if header else r"bomb\.gz is not a Planwatch store"
    with (
        files_of_at_most(2**19),
        pytest.raises(NotAStore, match=refused),
        unpacked(path),
    ):
        pytest.fail("it was opened")


@pytest.mark.parametrize("more", [ZEROS, -4096])
def test_a_recording_of_another_length_is_damaged(store: Path, tmp_path: Path, more: int) -> None:
    """What is too much is not unpacked, either."""
    path, content = tmp_path / "other.gz", store.read_bytes()
    path.write_bytes(gzip.compress(content + bytes(more) if more > 0 else content[:more]))
    with (
        files_of_at_most(2 * len(content)),
        pytest.raises(NotAStore, match=r"other\.gz is damaged: it is not as long"),
        unpacked(path),
    ):
        pytest.fail("it was opened")


def test_a_recording_too_large_for_the_disk_names_the_folder(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.gz"
    path.write_bytes(gzip.compress(store.read_bytes()))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(StoreFull, match=r"0 MB left; free some space there"), unpacked(path):
        pytest.fail("it was opened")
