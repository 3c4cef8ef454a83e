"""Runs of our own workloads, each by an engine of its own, without Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.errors import StoreError
from storage.reader import Reader, open_reader

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def demo(workload: str, store: Path) -> Iterator[tuple[str, Reader]]:
    """A shipped workload run by an engine of its own, without Spark, once it has batches."""
    words = ["backend", workload, "--master", "none", "--fresh", "--store", str(store)]
    command = [sys.executable, str(ROOT / "run.py"), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        run, reader = _begun(store, process)
        yield run, reader
        reader.close()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


def _begun(store: Path, process: subprocess.Popen[bytes]) -> tuple[str, Reader]:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        assert process.poll() is None, "the engine ended"
        try:
            reader = open_reader(str(store))
        except StoreError:
            time.sleep(0.5)
            continue
        runs = reader.runs()
        if runs and (reader.last_batch(runs[0].id) or 0) >= 2:
            return runs[0].id, reader
        reader.close()
        time.sleep(0.5)
    raise AssertionError("no batch within five minutes")
