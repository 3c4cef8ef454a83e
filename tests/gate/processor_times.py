"""A plugin of pytest: processor time of every test file, with all that it started."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Final

import psutil
import pytest

OPTION: Final = "--processor-times"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the times are written; without it none are taken."""
    parser.addoption(OPTION, type=Path, help="a file for the processor seconds by test file")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to add up."""
    written_to = config.getoption(OPTION)
    if written_to is not None:
        config.pluginmanager.register(ProcessorTimes(written_to, config.rootpath))


class ProcessorTimes:
    """Adds up by file, and writes seconds by path at the end: ``{"tests/unit/x.py": 1.25}``.

    Processes that outlived the one that started them are missed.
    """

    def __init__(self, written_to: Path, root: Path) -> None:
        self._written_to, self._root = written_to, root
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._before = tree_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """A file's tests follow one another; its fixtures end with the last of them."""
        ran = yield
        if nextitem is None or nextitem.path != item.path:
            now = tree_seconds()
            self._seconds[str(item.path.relative_to(self._root))] += now - self._before
            self._before = now
        return ran

    def pytest_sessionfinish(self) -> None:
        """Leave the times for the gate."""
        rounded = {path: round(seconds, 2) for path, seconds in sorted(self._seconds.items())}
        self._written_to.write_text(json.dumps(rounded, indent=0) + "\n")


def tree_seconds() -> float:
    """Processor seconds of this process and of all below it, ended ones included."""
    this = psutil.Process()
    total = 0.0
    for process in (this, *this.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
