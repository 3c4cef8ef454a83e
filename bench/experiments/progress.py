"""A progress bar a figure, in tuples: rewritten in place, or a line a quarter on a pipe."""

from __future__ import annotations

import sys
import time
from typing import IO, Final

WIDTH: Final = 30
_MILESTONES: Final = 4


class ProgressBar:
    """``total`` steps of one figure; what is being run now is named beside it."""

    def __init__(self, title: str, total: int, stream: IO[str] | None = None) -> None:
        self._title, self._total = title, max(1, total)
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._since = time.monotonic()
        self._done, self._told = 0, 0
        self._what = ""

    def begin(self, what: str) -> None:
        """Name what is being run now."""
        self._what = what
        self.advance(0)

    def advance(self, n: int) -> None:
        """n more steps are done."""
        self._done = min(self._total, self._done + n)
        reached = _MILESTONES * self._done // self._total
        if self._live:
            self._write("\r\x1b[K" + self._line())
        elif reached > self._told:
            self._told = reached
            self._write(self._line() + "\n")

    def end(self) -> None:
        """All is done."""
        self.advance(self._total)
        if self._live:
            self._write("\n")

    def _line(self) -> str:
        share = self._done / self._total
        bar = "#" * int(WIDTH * share)
        elapsed = time.monotonic() - self._since
        return f"{self._title} [{bar:.<{WIDTH}}] {share:4.0%} {elapsed:.0f} s {self._what}"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
