"""The demo's two processes, the page and the engine: started, watched, stopped together.

Standard library only; what the two run is data to it.
"""

from __future__ import annotations

import queue
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from backend.launch.environment import SetupFailed
from backend.launch.ports import bound_port
from backend.processes.children import Child, Ended, Happening, Happenings, stop_all
from backend.processes.watchdog import GRACE_S

#: How long the page may take to answer.
PAGE_WITHIN_S: Final = 60.0
#: Exit status of a child that could not do what it was asked: a bad file, a bad option.
BAD_REQUEST: Final = 2


class PageMissing(SetupFailed):
    """The dashboard runs but does not answer; the message names its log."""


class Supervisor:
    """Runs ``page`` and ``engine`` side by side. Both take seconds of all cores to start: the page
    comes first, the engine when it answers.

    The page must print a line once it listens on host:port, and then answer /healthz: an answer
    alone could be that of another server, which was there first.
    page, engine: command lines. logs: the folder for what they write to standard error.
    grace_s: what both together may take to stop. opens: the page to name in the address, '' = any.
    """

    def __init__(
        self,
        page: Sequence[str],
        engine: Sequence[str],
        logs: Path,
        host: str,
        port: int,
        grace_s: float = GRACE_S,
        opens: str = "",
    ) -> None:
        self._page, self._engine, self._logs = page, engine, logs
        self._host, self._port, self._grace_s = host, port, grace_s
        wild = host in ("0.0.0.0", "::")
        shown = "127.0.0.1" if wild else f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{port}/"
        self._opens = opens

    def run(self, happenings: Happenings) -> int | None:
        """Until a signal, or the dashboard's end; the exit status.

        None when another server took the port before ours did. Raises PageMissing, and OSError
        when a process cannot be started. Leaves no child behind.
        """
        children: list[Child] = []
        try:
            page = self._start("dashboard", self._page, happenings)
            children.append(page)
            instead = self._wait_for_page(page, happenings)
            if isinstance(instead, Ended):
                return None if bound_port(self._host, self._port) is None else report(instead)
            if instead is not None:
                print("Stopping ...", flush=True)
                return 0
            print(f"Planwatch is at {self.address}{self._opens} (Ctrl-C stops it)", flush=True)
            engine = self._start("backend", self._engine, happenings)
            children.insert(0, engine)
            return self._watch(engine, happenings)
        finally:
            if not stop_all(children, happenings, self._grace_s):
                print("Not everything stopped in time; the rest was killed.", flush=True)

    def _start(self, name: str, command: Sequence[str], happenings: Happenings) -> Child:
        return Child(name, command, self._logs / f"{name}-{self._port}.log", happenings)

    def _wait_for_page(self, page: Child, happenings: Happenings) -> Happening | None:
        """None once the page answers, or what happened instead."""
        deadline = time.monotonic() + PAGE_WITHIN_S
        while time.monotonic() < deadline:
            try:
                return happenings.get(timeout=0.05)
            except queue.Empty:
                if page.has_spoken and answers(f"{self.address}healthz"):
                    return None
        raise PageMissing(
            f"The dashboard did not answer within {PAGE_WITHIN_S:.0f} s; see {page.log}, or "
            "type 'python3 run.py doctor'."
        )

    def _watch(self, engine: Child, happenings: Happenings) -> int:
        """The page outlives the engine, unless that could not do what it was asked."""
        status = 0
        while True:
            happening = happenings.get()
            if not isinstance(happening, Ended):
                print("Stopping ...", flush=True)
                return status
            if happening.child is not engine:
                return report(happening)
            if happening.status:
                status = report(happening)
            if status == BAD_REQUEST:
                return status
            print(f"The backend has ended; {self.address} stays up until Ctrl-C.", flush=True)


def answers(url: str) -> bool:
    """Whether a server gives a good answer there."""
    try:
        with urllib.request.urlopen(url, timeout=2.0) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def report(ended: Ended) -> int:
    """Say how a child ended, with its last lines; the exit status this makes for us.

    What it could not do as asked, it has said in a sentence of its own.
    """
    child = ended.child
    if ended.status == BAD_REQUEST:
        print(*child.last_words(), sep="\n", file=sys.stderr, flush=True)
        return BAD_REQUEST
    how = f"with status {ended.status}" if ended.status >= 0 else f"by signal {-ended.status}"
    print(f"The {child.name} ended {how}:", *child.last_words(), sep="\n  ", file=sys.stderr)
    print(f"(all of it: {child.log})", file=sys.stderr, flush=True)
    return ended.status if ended.status > 0 else 1
