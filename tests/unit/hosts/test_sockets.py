"""Where Java and workers of this machine talk: a folder of the session, which does not stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from backend.hosts.spark.session import session

OWN = "spark.python.unix.domain.socket"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of /tmp, its name however long it is."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(session, "SOCKET_NAME_BYTES", 500)
    return tmp_path


def test_a_session_has_a_folder_that_others_may_not_enter(folder: Path) -> None:
    found = session._sockets("local[2]")
    assert found[f"{OWN}.enabled"] == "true"
    own = Path(found[f"{OWN}.dir"])
    assert own.parent == folder
    assert own.stat().st_mode & 0o777 == 0o700


def test_there_is_none_for_machines_of_others_or_where_names_are_too_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert session._sockets("spark://head:7077") == {}
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(session, "SOCKET_NAME_BYTES", 60)
    assert session._sockets("local[2]") == {}


def test_what_a_killed_process_left_goes_and_that_of_a_living_one_stays(folder: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, living = (folder / f"planwatch-sockets-{pid}-abc" for pid in (ended.pid, os.getpid()))
    other = folder / "planwatch-sockets-x-abc"
    for one in (left, living, other):
        one.mkdir()
    session._sockets("local[2]")
    assert not left.exists()
    assert living.exists()
    assert other.exists()
