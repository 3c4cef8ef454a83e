"""How far a long count is: a bar on a terminal, a line for each tenth in a log."""

from __future__ import annotations

import sys
import time
from typing import IO, Final

#: Shorter counts are over before anyone looks.
FEW: Final = 1000
_WIDTH: Final = 24
_TICK_S: Final = 0.1


class Counting:
    """Told ``(n, total)`` again and again, it says so on a stream. title: what is done."""

    def __init__(self, title: str, stream: IO[str] | None = None) -> None:
        self._title = title
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._since = self._shown_at = time.monotonic()
        self._tenth = 0

    def __call__(self, n: int, total: int) -> None:
        """n of total are done; nothing is said when the total is below FEW."""
        if total < FEW:
            return
        now = time.monotonic()
        tenth = 10 * n // total
        is_due = now - self._shown_at >= _TICK_S if self._live else tenth > self._tenth
        if not is_due and n < total:
            return
        self._shown_at, self._tenth = now, tenth
        text = f"{n} of {total} · {now - self._since:.1f} s"
        if self._live:
            done = _WIDTH * n // total
            bar = "█" * done + "░" * (_WIDTH - done)
            end = "\n" if n == total else ""
            self._stream.write(f"\r\x1b[K{self._title} {bar} {text}{end}")
        else:
            self._stream.write(f"{self._title}: {text}\n")
        self._stream.flush()
