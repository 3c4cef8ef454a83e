"""An engine that is asked to end has ended soon, whatever it is in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backend.processes.watchdog import GRACE_S
from tests.house.tree import ROOT

CODE = "import sys; from backend.launch.cli import main; sys.exit(main(sys.argv[1:]))"
#: It never returns, and lets no other thread of its process run.
STUCK = """
import ctypes
from pathlib import Path

from backend.workloads.functions import filter_function


@filter_function("text string")
def endless(text):
    Path(__file__).with_name("begun").touch()
    native, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    native.pthread_mutex_lock(mutex)
    return native.pthread_mutex_lock(mutex) == 0
"""
WORKLOAD = """
functions = "stuck.py"
[streams.S]
schema = "text string"
source = { format = "csv", path = "in" }
[queries]
Q = "Select * From S Where endless(text)"
"""
TAMED = WORKLOAD.replace("endless(text)", "text = 'b'").replace('functions = "stuck.py"', "")


def _as_in_the_foreground() -> None:
    """A shell has what it starts in the background ignore SIGINT, tests among it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def running(folder: Path, workload: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    (folder / "in").mkdir()
    (folder / "stuck.py").write_text(STUCK)
    (folder / "w.toml").write_text(workload)
    (folder / "in" / "a.csv").write_text("a" * 60 + "\n")
    command = [sys.executable, "-c", CODE, str(folder / "w.toml"), *options]
    store = str(folder / "store.db")
    process = subprocess.Popen(
        [*command, "--master", "none", "--store", store],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_as_in_the_foreground,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_lets_no_handler_run_ends_in_time(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path, WORKLOAD) as process:
        wait_for(tmp_path / "begun")
        process.send_signal(number)
        began = time.monotonic()
        said = process.communicate(timeout=GRACE_S + 20)[1]
        assert time.monotonic() - began > GRACE_S - 1
        assert process.returncode == -signal.SIGKILL
        assert f"it did not end within {GRACE_S:g} s and is killed; start it again" in said


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with running(tmp_path, WORKLOAD) as process:
        wait_for(tmp_path / "begun")
        process.send_signal(signal.SIGTERM)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        said = process.communicate(timeout=60)[1]
        assert time.monotonic() - began < GRACE_S - 2
        assert process.returncode == -signal.SIGKILL
        assert "it was asked to end again and is killed" in said


def test_one_that_can_end_does_so_by_itself_and_pipes_do_not_hold_it(tmp_path: Path) -> None:
    with running(tmp_path, TAMED) as process:
        os.mkfifo(tmp_path / "in" / "pipe.csv")
        assert process.stderr is not None
        said = process.stderr.readline()
        while "no regular file" not in said:
            said = process.stderr.readline()
            assert said, "it ended before it said so"
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)  # as those have it that tell the group as well
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 0, said
        assert "killed" not in said
