"""A run belongs to one process: by a lock that it holds, and an epoch that every commit checks."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from storage.errors import RunLives, RunLost
from storage.vocabulary.records import Batch, BatchRecord
from storage.writer import EngineWriter, open_engine_writer
from tests.contract.store_builders import START, begin
from tests.house.tree import ROOT

_HOLD = """
import os, socket, sys, time
from dataclasses import replace
from storage.writer import open_engine_writer
from tests.contract.store_builders import new_run
writer = open_engine_writer(sys.argv[1])
writer.begin_run(replace(new_run(), pid=os.getpid(), host=socket.gethostname()))
print("begun", flush=True)
time.sleep(600)
"""
_HOUR_S = 3600.0


@contextmanager
def holding(url: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that has begun the run r1, and does nothing."""
    command = [sys.executable, "-c", _HOLD, url]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        try:
            yield process
        finally:
            process.kill()


def resumed(writer: EngineWriter, now: float) -> None:
    writer.resume_run("r1", now, "0", {}, ())


def batch(number: int) -> BatchRecord:
    return BatchRecord("r1", Batch(number, START + number, 1.0, 1, 1, 0))


@pytest.mark.parametrize("stopped", [False, True], ids=["silent", "stopped"])
def test_a_process_that_says_nothing_for_an_hour_owns_its_run(
    store_url: str, stopped: bool
) -> None:
    with holding(store_url) as process, open_engine_writer(store_url) as writer:
        if stopped:
            process.send_signal(signal.SIGSTOP)
        for now in (START + 24 * _HOUR_S, START - 24 * _HOUR_S):
            assert writer.mark_interrupted(now) == []
            with pytest.raises(RunLives, match=f"process {process.pid} on {socket.gethostname()}"):
                resumed(writer, now)


def test_a_process_that_was_killed_owns_nothing(store_url: str) -> None:
    with open_engine_writer(store_url) as writer:
        with holding(store_url) as process:
            process.kill()
            process.wait()
        resumed(writer, time.time())
        assert writer.write_batch(batch(0))


def test_who_lost_a_run_writes_nothing_more(store_url: str) -> None:
    """Two processes may own a run, one after the other, where a lock is lost: with a connection."""
    with open_engine_writer(store_url) as first, open_engine_writer(store_url) as second:
        begin(first)
        first.write_batch(batch(0))
        first._ownership.give_back("r1")
        second.set_state("r1", "interrupted", "lost", START)
        resumed(second, START + 60)
        for act in (
            lambda: first.write_batch(batch(1)),
            lambda: first.heartbeat("r1", START + 61),
            lambda: first.set_state("r1", "ended", "", START + 61),
            lambda: first.check_owner("r1"),
        ):
            with pytest.raises(RunLost, match=f"taken over by process {os.getpid()}"):
                act()
        second.check_owner("r1")
        assert second.write_batch(batch(1))


def test_a_run_that_ended_is_nobodys(store_url: str) -> None:
    with open_engine_writer(store_url) as first, open_engine_writer(store_url) as second:
        begin(first)
        first.set_state("r1", "ended", "", START)
        resumed(second, START + 1)


def test_a_lock_of_a_server_is_taken_again(store_url: str) -> None:
    with open_engine_writer(store_url) as writer:
        begin(writer)
        if writer._engine.dialect.name != "postgresql":
            return
        locks = writer._ownership._locks
        locks._holding.invalidate()  # type: ignore[attr-defined]
        while locks.is_held("r1"):  # the server finds out by itself
            time.sleep(0.01)
        writer.heartbeat("r1", START)
        assert locks.is_held("r1")
