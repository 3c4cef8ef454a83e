"""What is shown while packages are installed."""

from __future__ import annotations

import io
import os
import sys

import pytest

from backend.processes.progress import PipReader, ProgressLine, follow

LINES = [
    ("Looking in indexes: somewhere", None),
    ("Collecting dash==4.4.1 (from -r requirements.txt (line 201))", "package 1 of 5, dash 4.4.1"),
    (
        "  Downloading dash-4.4.1-py3-none-any.whl (8.9 MB)",
        "package 1 of 5, dash 4.4.1, fetching 8.9 MB",
    ),
    ("Processing ./files/idna-3.20-py3-none-any.whl (from x)", "package 2 of 5, idna 3.20"),
    ("Requirement already satisfied: zipp==4.1 in ./x", "package 3 of 5, zipp 4.1"),
    ("Collecting pyspark==4.3.0 (from x)", "package 4 of 5, pyspark 4.3.0"),
    ("Building wheels for collected packages: pyspark", None),
    ("  Building wheel for pyspark (setup.py): started", "building pyspark"),
    ("Installing collected packages: a, b, c", "installing 3 packages"),
    ("Successfully installed a b c", None),
]


def test_pip_is_read_line_by_line() -> None:
    reader = PipReader(5)
    for line, expected in LINES:
        assert reader.read(line) == expected, line


def test_a_terminal_sees_one_line() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    with ProgressLine("Setting up", screen) as line:
        line.set("package 1 of 2, a 1")
        line.set("package 2 of 2, b 2")
    assert screen.getvalue().count("\n") == 1
    assert "\r\x1b[KSetting up: package 2 of 2, b 2 · 0 s" in screen.getvalue()
    assert "done in 0 s" in screen.getvalue()


def test_a_file_gets_each_tenth_package() -> None:
    file = io.StringIO()
    with ProgressLine("Setting up", file) as line:
        for number in range(1, 23):
            line.set(f"package {number} of 22, p{number} 1")
        line.set("installing 22 packages")
    lines = file.getvalue().splitlines()
    assert [text.split(",")[0] for text in lines[:2]] == [
        "Setting up: package 10 of 22",
        "Setting up: package 20 of 22",
    ]
    assert "installing 22" in lines[2]
    assert "done" in lines[3]
    assert len(lines) == 4


def test_follow_keeps_what_was_said_and_the_status() -> None:
    code = "import sys; print('Collecting a==1 (x)'); print('why', file=sys.stderr); sys.exit(3)"
    file = io.StringIO()
    line = ProgressLine("Setting up", file)
    status, output = follow([sys.executable, "-c", code], line, 1, dict(os.environ))
    assert status == 3
    assert "why" in output


def test_a_failure_does_not_say_done() -> None:
    file = io.StringIO()
    with pytest.raises(KeyError), ProgressLine("Setting up", file):
        raise KeyError
    assert "done" not in file.getvalue()
