"""The archive of Java's classes: where it belongs and what Spark's driver is told of it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from backend.hosts.spark.session import archive as module
from backend.hosts.spark.session.archive import (
    RECORDING,
    archive_of,
    java_options,
    prepare,
    prepare_beside,
)
from backend.hosts.spark.session.java import JavaFound

JAVA = JavaFound(Path("/usr/lib/jvm/java"), "17.0.15", "PATH")


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of its own, so that the real one's archive stays out of it."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.delenv(RECORDING, raising=False)
    return tmp_path


def test_it_is_named_after_what_it_depends_on(prefix: Path) -> None:
    found = archive_of(JAVA)
    assert found is not None
    assert found.is_relative_to(prefix)
    assert "java-17.0.15" in found.name
    assert "spark-4" in found.name


def test_no_archive_no_options(prefix: Path) -> None:
    assert java_options(JAVA) == ""


def test_an_archive_is_used(prefix: Path) -> None:
    found = archive_of(JAVA)
    assert found is not None
    found.parent.mkdir(parents=True)
    found.write_bytes(b"")
    assert f"-XX:SharedArchiveFile={found}" in java_options(JAVA)


def test_the_training_run_writes_one(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RECORDING, "/somewhere.jsa")
    assert "-XX:ArchiveClassesAtExit=/somewhere.jsa" in java_options(JAVA)


def test_an_existing_archive_is_left_alone(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_java", lambda: JAVA)
    found = archive_of(JAVA)
    assert found is not None
    found.parent.mkdir(parents=True)
    found.write_bytes(b"kept")
    assert prepare(Path())
    assert found.read_bytes() == b"kept"


def test_one_is_written_beside_the_work_of_others(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_java", lambda: JAVA)
    monkeypatch.setattr(module, "SETTLED_S", 0.0)
    program = f"""import os
with open(os.environ["{RECORDING}"], "w") as archive:
    archive.write(str(os.nice(0)))
"""
    (tmp_path / "run.py").write_text(program)
    prepare_beside(tmp_path)
    found, deadline = archive_of(JAVA), time.monotonic() + 30
    assert found is not None
    while not found.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert int(found.read_text()) == min(os.nice(0) + 19, 19)
