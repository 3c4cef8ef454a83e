"""What happens to a run whose processes are killed from outside, one at a time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from backend.hosts.spark.session.session import DAEMON
from backend.model.ids import entity_id
from storage.errors import StoreError
from storage.store import open_reader
from storage.vocabulary.records import Run

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
CODE = "import sys; from backend.launch.cli import main; sys.exit(main(sys.argv[1:]))"
WORKLOAD = """
[streams.S]
schema = "a1 int, a2 int"
rate = 500
[streams.S.source]
format = "drift"
seed = 1
phases = [{ distribution = "uniform", n_tuples = 100000 }]
[knobs]
at_end = "loop"
[queries]
low = "Select * From S Where a1 < 50"
"""
PATIENCE_S = 240.0


class Live:
    """A backend at work, and its store."""

    def __init__(self, process: subprocess.Popen[str], store: Path) -> None:
        self.process, self.store = process, store

    def n_batches(self) -> int:
        with suppress(StoreError), open_reader(str(self.store)) as reader:
            for run in reader.runs():
                last = reader.last_batch(run.id)
                return 0 if last is None else last + 1
        return 0

    def wait_for(self, n_batches: int) -> None:
        until(lambda: self.n_batches() >= n_batches or self.process.poll() is not None)
        assert self.process.poll() is None

    def family(self, of: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
        found = psutil.Process(self.process.pid).children(recursive=True)
        return [one for one in found if of(one)]

    def run(self) -> Run:
        with open_reader(str(self.store)) as reader:
            (run,) = reader.runs()
            return run


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


@contextmanager
def live_backend(folder: Path, *options: str) -> Iterator[Live]:
    """Runs the workload w.toml of a folder, with a store there."""
    store = folder / "store.db"
    command = [sys.executable, "-c", CODE, str(folder / "w.toml"), "--store", str(store)]
    process = subprocess.Popen(
        [*command, *options], cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield Live(process, store)
    finally:
        with suppress(psutil.NoSuchProcess):
            for one in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    one.kill()
        process.kill()
        process.communicate()


def is_worker(process: psutil.Process) -> bool:
    """A worker is a copy of the daemon that started it."""
    with suppress(psutil.NoSuchProcess):
        daemons = [process, process.parent()]
        return all(one is not None and DAEMON in one.cmdline() for one in daemons)
    return False


def test_killed_workers_cost_nothing_and_a_closed_terminal_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(WORKLOAD)
    with live_backend(tmp_path) as live:
        live.wait_for(2)
        for _ in range(2):
            until(lambda: bool(live.family(is_worker)))
            for worker in live.family(is_worker):
                worker.kill()
            live.wait_for(live.n_batches() + 3)
        run = live.run()
        assert (run.state, run.note) == ("running", "")
        live.process.send_signal(signal.SIGHUP)
        _, said = live.process.communicate(timeout=PATIENCE_S)
        assert live.process.returncode == 0, said
        assert (live.run().state, live.run().note) == ("ended", "stopped")
        with open_reader(str(live.store)) as reader:
            batches = reader.batches(run.id, None, 100_000)
        assert [batch.id for batch in batches] == list(range(len(batches)))


def test_a_run_whose_java_dies_says_so(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(WORKLOAD)
    with live_backend(tmp_path) as live:
        live.wait_for(1)
        (java,) = live.family(lambda process: process.name() == "java")
        java.kill()
        _, said = live.process.communicate(timeout=PATIENCE_S)
        assert live.process.returncode == 1
        run = live.run()
        assert run.state == "failed"
        assert run.note.startswith("Java died (killed by SIGKILL, as when memory is short); start")
        assert f"run {run.id} failed: {run.note}" in said
        assert "Traceback" not in said


ALL_AT_ONCE = (
    WORKLOAD.replace("rate = 500", "rate = 0").replace("loop", "stop").replace("100000", "300000")
)
SINK = """
[sink]
path = "{}"
format = "csv"
"""
#: A disk of 1 MB; the run; the same disk, larger; the run again; what is in the sink.
ON_A_SMALL_DISK = """
mount -t tmpfs -o size=1m tmpfs "$1" || exit 77
shift
"$@" 2>&1
echo "status $?"
mount -o remount,size=64m "$DISK"
"$@" 2>&1
echo "status $?"
cat "$DISK"/*/*/*.csv "$DISK"/*/*/*/*.csv 2>/dev/null | grep -c '^[0-9]'
"""


def test_a_full_disk_is_one_sentence_and_the_run_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "w.toml").write_text(ALL_AT_ONCE + SINK.format(disk / "out"))
    run = [sys.executable, "-c", CODE, str(tmp_path / "w.toml"), "--once"]
    run += ["--store", str(tmp_path / "store.db")]
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare here to make a small disk with")
    command = [unshare, "-rm", "sh", "-c", ON_A_SMALL_DISK, "sh", str(disk), *run]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "DISK": str(disk)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no rights here to make a small disk")
    said = done.stdout
    assert said.count("the disk is full") == 1
    assert "free some space, start the same command again to resume the run" in said
    assert "Traceback" not in said
    assert [line for line in said.splitlines() if line.startswith("status")] == [
        "status 1",
        "status 0",
    ]
    with open_reader(str(tmp_path / "store.db")) as reader:
        (goes_on,) = reader.runs()
        assert goes_on.state == "ended"
        matched = reader.values(goes_on.id)[entity_id("asc.S", "query", "low")]["matched_total"]
    assert matched
    assert int(said.splitlines()[-1]) == matched
