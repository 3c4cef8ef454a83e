"""What the doctor says and when it says no."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from backend.launch import doctor
from backend.launch.doctor import Diagnosis, examine, find_chromium, find_postgres, look_around
from backend.launch.environment import DEV, RUN, Environment

ROOT = Path(__file__).parents[3]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A project folder whose environment is not made yet."""
    for name in (RUN, DEV):
        (tmp_path / name).write_text("# nothing\n")
    return Environment(tmp_path)


def found(environment: Environment, name: str, port: int | None = 0) -> Diagnosis:
    """The finding of this name."""
    findings = {finding.name: finding for finding in look_around(environment, "127.0.0.1", port)}
    return findings[name]


def test_a_bare_machine_lacks_nothing(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    assert examine(environment, "127.0.0.1", 0) == 0
    report = capsys.readouterr().out
    assert "note     environment  not made yet" in report
    assert "-> python3 run.py" in report
    assert report.endswith("Nothing is missing.\n")


def test_a_python_without_packages_leaves_the_store_alone() -> None:
    doctored = subprocess.run(
        [sys.executable, "-S", ROOT / "run.py", "doctor"],
        env={**os.environ, "PLANWATCH_NO_ENVIRONMENT": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert doctored.stderr == ""
    assert "environment" in doctored.stdout
    assert " store " not in doctored.stdout


def test_what_is_missing_fails_it_and_is_named(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = Diagnosis("store", "missing", "written by a later version", "update")
    assert examine(environment, "127.0.0.1", 0, [lost]) == 1
    assert capsys.readouterr().out.endswith("Missing: store.\n")


def test_a_taken_port_matters_only_when_asked_for(environment: Environment) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        asked = found(environment, "port", other.getsockname()[1])
    assert (asked.state, asked.step) == ("missing", "--port with another number")


def test_a_full_disk_says_how_much_to_free(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "NEEDED_BYTES", 1 << 62)
    disk = found(environment, "disk")
    assert disk.state == "missing"
    assert disk.step.startswith("free ")


def test_no_java_outside_the_environment_is_only_a_note(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("backend.hosts.spark.session.java.find_spec", lambda name: None)
    assert found(environment, "Java").state == "note"


def test_chromium_by_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    monkeypatch.setenv(doctor.CHROMIUM_VARIABLE, str(browser))
    assert find_chromium() is None
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)
    assert find_chromium() == browser


def test_chromium_downloaded_by_playwright(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(doctor.CHROMIUM_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_chromium() is None
    chrome = tmp_path / ".cache/ms-playwright/chromium-1200/chrome-linux64/chrome"
    chrome.parent.mkdir(parents=True)
    chrome.write_text("")
    chrome.chmod(0o755)
    assert find_chromium() == chrome


def test_postgres_is_a_folder_of_server_programs() -> None:
    folder = find_postgres()
    assert folder is not None, "the tests need a PostgreSQL server: see 'run.py doctor'"
    assert all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres"))
