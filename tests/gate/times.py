"""A plugin of pytest: what every test file takes, with all processes that it starts."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Final

import psutil
import pytest

OPTION: Final = "--file-times"
#: Processes that live for less are missed.
_PAUSE_S: Final = 0.5


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the times are written; without it none are taken."""
    parser.addoption(OPTION, type=Path, help="a file for what each test file takes")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to look."""
    written_to = config.getoption(OPTION)
    if written_to is not None:
        config.pluginmanager.register(FileTimes(written_to, config.rootpath))


class FileTimes:
    """Adds up by file, and writes ``{path: [processor seconds, seconds]}`` at the end.

    Processes are looked at now and then: what a browser's took is told by none of those that
    started them once they have ended.
    """

    def __init__(self, written_to: Path, root: Path) -> None:
        self._written_to, self._root = written_to, root
        self._taken: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._of: dict[tuple[int, float], float] = {}  # process -> its processor seconds
        self._looking = threading.Lock()
        self._ended = threading.Event()
        self._look()
        self._before = (self._total(), time.monotonic())
        self._thread = threading.Thread(target=self._look_again, daemon=True)
        self._thread.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """A file's tests follow one another; its fixtures end with the last of them."""
        ran = yield
        if nextitem is None or nextitem.path != item.path:
            self._look()
            now = (self._total(), time.monotonic())
            taken = self._taken[str(item.path.relative_to(self._root))]
            taken[0] += now[0] - self._before[0]
            taken[1] += now[1] - self._before[1]
            self._before = now
        return ran

    def pytest_sessionfinish(self) -> None:
        """Leave the times for the gate."""
        self._ended.set()
        self._thread.join()
        rounded = {path: [round(s, 1) for s in taken] for path, taken in self._taken.items()}
        self._written_to.write_text(json.dumps(rounded))

    def _look_again(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self._look()

    def _look(self) -> None:
        with self._looking:
            this = psutil.Process()
            for process in (this, *this.children(recursive=True)):
                try:
                    times, began = process.cpu_times(), process.create_time()
                except psutil.Error:
                    continue
                self._of[process.pid, began] = times.user + times.system

    def _total(self) -> float:
        with self._looking:
            return sum(self._of.values())
