"""The engine's log with its run: bounded, storable, written once."""

from __future__ import annotations

import logging

from backend.engine.run_log import LONGEST, MOST_LINES, RunLog
from storage.vocabulary.records import LogLine
from storage.writer import EngineWriter


class Written(EngineWriter):
    def __init__(self) -> None:
        self.lines: list[LogLine] = []

    def write_log(self, run_id: str, lines: object) -> None:
        assert isinstance(lines, list)
        assert lines
        self.lines += lines


def test_what_is_logged_is_written_once_and_bounded() -> None:
    log, writer = RunLog(), Written()
    logger = logging.Logger("of a test")
    logger.addHandler(log)
    logger.debug("not kept")
    logger.warning("odd \0 %s", "x" * 2 * LONGEST)
    log.write(writer, "r1")
    log.write(writer, "r1")
    (line,) = writer.lines
    assert (line.level, line.text[:7], len(line.text)) == ("WARNING", "odd ? x", LONGEST)
    for n in range(MOST_LINES + 5):
        logger.info("%d", n)
    log.write(writer, "r1")
    assert len(writer.lines) == 1 + MOST_LINES
    assert writer.lines[1].text == "5"
