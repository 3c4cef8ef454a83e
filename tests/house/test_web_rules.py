"""Browser tests wait for what is painted, and read it then."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.house.tree import ROOT
from tests.house.web_rules import (
    Helpers,
    functions,
    hasty_reads,
    helpers_of,
    unexplained_sleeps,
)

FOLDER = ROOT / "tests" / "web"
FILES = sorted(FOLDER.glob("*.py"), key=lambda path: path.name)

HELPERS = """
def turned(page):
    page.keyboard.press("Space")

def drawn(page):
    until(page, "drawn")
    return page
"""


@cache
def _shared() -> Helpers:
    """What the helpers of all browser tests do."""
    modules = (path for path in FILES if not path.name.startswith("test_"))
    return helpers_of({k: v for path in modules for k, v in functions(path.read_text()).items()})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_browser_tests_wait_for_states(path: Path) -> None:
    source = path.read_text()
    assert list(unexplained_sleeps(source)) == [], "wait for a state, or say '# sleeps: why'"
    helpers = helpers_of(functions(source), _shared())
    assert sorted(set(hasty_reads(source, helpers))) == [], (
        "read after expect(...), until(...) or painted(...)"
    )


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("page.locator('b').click()\n    assert page.locator('b').count() == 1", [3]),
        ("turned(page)\n    assert page.evaluate('1') == 1", [3]),
        ("turned(page)\n    drawn(page)\n    assert page.evaluate('1') == 1", []),
        ("page.evaluate('planwatch.go()')\n    assert page.evaluate('1') == 1", [3]),
        ("page.click()\n    expect(page).to_have_url('x')\n    assert page.evaluate('1')", []),
        ("for n in range(3):\n        page.press('a')\n    n = page.locator('b').count()", [4]),
    ],
)
def test_a_read_right_after_an_act_is_seen(body: str, lines: list[int]) -> None:
    helpers = helpers_of(functions(HELPERS))
    source = f"def test_it(page):\n    {body}\n"
    assert list(hasty_reads(source, helpers)) == lines


def test_a_sleep_needs_a_reason() -> None:
    source = "page.wait_for_timeout(5)\ntime.sleep(1)  # sleeps: nothing comes\n"
    assert list(unexplained_sleeps(source)) == [1]
