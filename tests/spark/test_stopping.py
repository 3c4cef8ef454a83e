"""A run on Spark that hangs ends in time when it is asked to, and goes on whole."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from backend.processes.watchdog import GRACE_S
from tests.house.tree import ROOT
from tests.unit.hosts.test_stopping import CODE, STUCK, WORKLOAD, wait_for

pytestmark = pytest.mark.spark


def test_a_worker_that_hangs_holds_no_engine(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a" * 60 + "\n")
    (tmp_path / "w.toml").write_text(f"{WORKLOAD}[sink]\npath = 'out'\n")
    (tmp_path / "stuck.py").write_text(STUCK)
    store = str(tmp_path / "store.db")
    command = [sys.executable, "-c", CODE, str(tmp_path / "w.toml"), "--store", store]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(tmp_path / "begun")
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            process.communicate(timeout=GRACE_S + 30)
            assert time.monotonic() - began < GRACE_S + 10
        finally:
            process.kill()
    (tmp_path / "stuck.py").write_text(STUCK.replace("    native.pthread_mutex_lock(mutex)\n", ""))
    done = subprocess.run([*command, "--once"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    whole = ds.dataset(tmp_path / "out", format="parquet").to_table()
    assert whole.column("text").to_pylist() == ["a" * 60]
