"""One line that shows how far the set-up is, fed from pip's output. Standard library only."""

from __future__ import annotations

import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Final, Self

TICK_S: Final = 0.5
#: Lines of output kept to explain a failure.
KEPT_LINES: Final = 400

_STARTED = re.compile(
    r"^(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9._-]+)==([^\s;]+)"
    r"|^Processing \S*/([A-Za-z0-9._]+)-([^-/\s]+)[^/\s]*\.(?:whl|tar\.gz)"
)
_FETCHING = re.compile(r"^\s+Downloading \S+ (\([\d.]+ [kMG]B\))")
_BUILDING = re.compile(r"^\s*Building wheel for ([A-Za-z0-9._-]+) ")
_INSTALLING = re.compile(r"^Installing collected packages: (.*)")


class ProgressLine:
    """A single line rewritten in place; on a pipe or in a file, a line for each tenth package."""

    def __init__(self, title: str, stream: IO[str] | None = None) -> None:
        self._title = title
        self._stream = sys.stdout if stream is None else stream
        self._live = self._stream.isatty()
        self._since = time.monotonic()
        self._text, self._shown = "", ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the line; says 'done' when the work under it was."""
        if kind is None:
            self._write(f"{self._title}: done in {time.monotonic() - self._since:.0f} s")
        if self._live:
            self._stream.write("\n")
        self._stream.flush()

    def set(self, text: str) -> None:
        """Say what is being done now."""
        self._text = text
        self.tick()

    def tick(self) -> None:
        """Bring the elapsed time up to date."""
        elapsed = time.monotonic() - self._since
        if self._live:
            self._write(f"{self._title}: {self._text} · {elapsed:.0f} s")
        elif self._text != self._shown and _is_milestone(self._text):
            self._shown = self._text
            self._write(f"{self._title}: {self._text} · {elapsed:.0f} s")

    def _write(self, text: str) -> None:
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r\x1b[K" + text[:width])
        else:
            self._stream.write(text + "\n")
        self._stream.flush()


class PipReader:
    """Turns pip's output, line by line, into 'package k of n' phrases."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._name = total, 0, ""

    def read(self, line: str) -> str | None:
        """The phrase for a line of pip's, None when there is nothing new to say."""
        started = _STARTED.match(line)
        if started is not None:
            name, version, wheel, wheel_version = started.groups()
            self._done += 1
            self._name = f"{name or wheel} {version or wheel_version}"
            return self._phrase()
        fetching, building = _FETCHING.match(line), _BUILDING.match(line)
        if fetching is not None:
            return f"{self._phrase()}, fetching {fetching.group(1).strip('()')}"
        if building is not None:
            return f"building {building.group(1)}"
        installing = _INSTALLING.match(line)
        if installing is not None:
            return f"installing {installing.group(1).count(',') + 1} packages"
        return None

    def _phrase(self) -> str:
        return f"package {min(self._done, self._total)} of {self._total}, {self._name}"


def follow(
    command: Sequence[str], line: ProgressLine, total: int, env: Mapping[str, str]
) -> tuple[int, str]:
    """Run pip and show its progress; (exit status, the last lines it printed).

    total: packages expected; 0 keeps quiet about their number.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    kept: deque[str] = deque(maxlen=KEPT_LINES)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
    ) as process:
        pump = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
        pump.start()
        try:
            _show(lines, kept, PipReader(total) if total else None, line)
        except BaseException:
            process.kill()
            raise
        finally:
            pump.join()
    return process.returncode, "".join(kept)


def _show(
    lines: queue.SimpleQueue[str | None],
    kept: deque[str],
    reader: PipReader | None,
    shown: ProgressLine,
) -> None:
    while True:
        try:
            text = lines.get(timeout=TICK_S)
        except queue.Empty:
            shown.tick()
            continue
        if text is None:
            return
        kept.append(text)
        phrase = None if reader is None else reader.read(text)
        if phrase is not None:
            shown.set(phrase)


def _pump(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    for text in stream:
        lines.put(text)
    lines.put(None)


def _is_milestone(text: str) -> bool:
    number = re.match(r"package (\d+) of", text)
    return number is None or (number.group(1).endswith("0") and "fetching" not in text)
