"""Scripts of the page ask no clock that may be set: the browser's says nothing of the engine's."""

from __future__ import annotations

import re

import pytest

from tests.house.tree import texts

#: Who asks for the browser's time of day nevertheless, and why.
ASKING = {
    "assets/modules/live.js": "record to pixel, measured by bench/live.py on the engine's machine"
}
_TIME_OF_DAY = re.compile(r"\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|performance\.timeOrigin")


def asks(script: str) -> bool:
    """Whether a script asks for the time of day of the browser."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", script, flags=re.DOTALL)
    return _TIME_OF_DAY.search(bare) is not None


def test_ages_are_told_by_the_engines_clock_alone() -> None:
    """assets/modules/clock.js has it, as the server told it."""
    asking = {path.as_posix() for path, text in texts(".js").items() if asks(text)}
    assert asking == ASKING.keys()


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("const now = Date.now();", True),
        ("const now = new Date();", True),
        ("const now = +new Date( );", True),
        ("const at = performance.timeOrigin + performance.now();", True),
        ("const text = new Date(1000 * time).toISOString();", False),
        ("const since = performance.now();", False),
        ("/* not Date.now() */ // nor new Date()", False),
    ],
)
def test_a_question_for_the_time_of_day_is_seen(script: str, found: bool) -> None:
    assert asks(script) == found
