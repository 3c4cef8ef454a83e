"""A real dashboard on a real store for browser tests: waitress in a thread, a run fed by hand."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dashboard.serving.settings import Settings
from dashboard.web.server import Server
from storage.exchange.liveness import STALE_AFTER_S
from storage.reader import Reader
from storage.writer import EngineWriter, open_engine_writer
from tests.web.recorded import Recording, record
from tests.web.recorded_parts import PERIOD_S

ENDED = "r1"
RUNNING = "r2"
STALLED = "r3"
"""Says it is running, but its engine was last heard of an hour ago."""
N_ENDED = 200
N_RUNNING = 120
_BEAT_S = 5.0
_STOPS_WITHIN_S = 20.0


@dataclass
class Site:
    """A served store. url: without a slash at its end. path: of the store. recording: the running
    run, fed by tests."""

    url: str
    path: Path
    reader: Reader
    recording: Recording
    writer: EngineWriter

    def feed(self, n: int = 1, period_s: float = 0.0, order: list[str] | None = None) -> None:
        """Write n batches recorded now, answering what was requested; order: rearrange first."""
        for place in range(n):
            commands = self.writer.pending_commands(RUNNING)
            self.recording.write(time.time(), commands, order if place == 0 else None)
            time.sleep(period_s)  # sleeps: the pace of the run

    @contextmanager
    def feeding(self, period_s: float = 0.2) -> Iterator[None]:
        """Batches every period_s in the background."""
        stop = threading.Event()

        def run() -> None:
            while not stop.wait(period_s):
                self.feed()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(timeout=10)


def _beat(path: str, ended: threading.Event) -> None:
    """Signs of life of all runs at work, as of a process that has nothing to do, until the site is
    closed; what had been silent for longer is left so."""
    command = "UPDATE runs SET heartbeat_at = :now WHERE state IN ('starting', 'running')"
    command += " AND heartbeat_at BETWEEN :now - :stale AND :now - :pause"
    while not ended.wait(_BEAT_S):
        values = {"now": time.time(), "stale": STALE_AFTER_S, "pause": _BEAT_S}
        with closing(sqlite3.connect(path, timeout=30)) as store, store:
            store.execute(command, values)


@cache
def _past_runs() -> Path:
    """A store with the runs that no test adds to, recorded once a session."""
    folder = Path(tempfile.mkdtemp(prefix="planwatch-past-runs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path, now = folder / "planwatch.db", time.time()
    with open_engine_writer(str(path)) as writer:
        record(writer, ENDED, N_ENDED, now - 9000)
        record(writer, STALLED, 20, now - 3600, end=False)
    return path


@contextmanager
def serving(settings: Settings) -> Iterator[Server]:
    """A dashboard that answers meanwhile, and stops."""
    server = Server(settings)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(_STOPS_WITHIN_S)
        assert not thread.is_alive()


@contextmanager
def served(store: str | Path, **more: Any) -> Iterator[str]:
    """The address of a dashboard on a store. more: further settings."""
    with serving(Settings(str(store), "a-token-for-tests", port=0, **more)) as server:
        yield f"http://127.0.0.1:{server.port}"


@contextmanager
def serve(
    folder: Path, *, empty: bool = False, awaits: bool = False, **more: Any
) -> Iterator[Site]:
    """A store with an ended, a running and a stalled run in ``folder``, served on a free port.

    empty: without any run; ``site.recording.begin()`` begins the first. awaits: with the ended run
    alone, beside which another one is being started. more: further settings.
    """
    path = str(folder / "planwatch.db")
    now = time.time()
    if not (empty or awaits):
        shutil.copy(_past_runs(), path)
    with open_engine_writer(path) as writer:
        recording = Recording(writer, RUNNING, now)
        if awaits:
            record(writer, ENDED, N_ENDED, now - 9000)
        elif not empty:
            started_at = now - 5 - PERIOD_S * N_RUNNING
            recording = record(writer, RUNNING, N_RUNNING, started_at, end=False)
        awaited = now if awaits else None
        settings = Settings(path, "a-token-for-tests", port=0, awaits_since=awaited, **more)
        ended = threading.Event()
        beating = threading.Thread(target=_beat, args=(path, ended), daemon=True)
        beating.start()
        try:
            with serving(settings) as server:
                url = f"http://127.0.0.1:{server.port}"
                yield Site(url, Path(path), server.services.reader, recording, writer)
        finally:
            ended.set()
            beating.join(timeout=10)
