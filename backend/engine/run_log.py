"""The engine's log beside its run: the lines of this process, kept with its records."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from storage.tables.texts import storable
from storage.vocabulary.records import LogLine
from storage.writer import EngineWriter

#: Lines that wait to be written, and characters of each.
MOST_LINES: Final = 500
LONGEST: Final = 2000


class RunLog(logging.Handler):
    """Collects what is logged, by any thread, until it is written."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: deque[LogLine] = deque(maxlen=MOST_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; of a long one its begin."""
        text = storable(self.format(record))[:LONGEST]
        self._lines.append(LogLine(record.created, record.levelname, text))

    def write(self, writer: EngineWriter, run_id: str) -> None:
        """Write what has come since the last time, if anything has."""
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if lines:
            writer.write_log(run_id, lines)
