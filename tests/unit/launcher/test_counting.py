"""Long counts show a bar on a terminal and plain lines in a log; short ones show nothing."""

from __future__ import annotations

import io

from backend.launch.counting import Counting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def count(stream: io.StringIO, total: int) -> str:
    counting = Counting("reading queries", stream)
    for n in range(1, total + 1):
        counting(n, total)
    return stream.getvalue()


def test_a_log_gets_a_line_for_each_tenth() -> None:
    lines = count(io.StringIO(), 2000).splitlines()
    assert [line.split(" · ")[0] for line in lines] == [
        f"reading queries: {n} of 2000" for n in range(200, 2001, 200)
    ]


def test_a_terminal_gets_one_line_that_ends_full() -> None:
    shown = count(Terminal(), 2000)
    assert shown.count("\n") == 1
    assert "█" * 24 + " 2000 of 2000" in shown


def test_short_counts_are_silent() -> None:
    assert count(io.StringIO(), 50) == ""
