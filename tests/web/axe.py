"""Axe, asked about a page of the dashboard."""

from __future__ import annotations

import importlib.util
import time
from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

#: Figures take a theme's colours after the page has them, and nothing tells when.
COLOURED_WITHIN_S: Final = 10.0


def violations(
    page: Page, within: str = "body", rules: tuple[str, ...] = ()
) -> list[tuple[str, Any, str]]:
    """Rules that the page breaks, with their first places and how to mend it.

    within: a selector of the part that is looked at. rules: that are asked about, () = all.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(_source())
    end = time.monotonic() + COLOURED_WITHIN_S
    while (broken := _broken(page, within, rules)) and time.monotonic() < end:
        page.wait_for_timeout(100)  # sleeps: asked again
    return broken


@cache
def _source() -> str:
    """The axe script that axe-core-python ships."""
    package = importlib.util.find_spec("axe_core_python")
    assert package is not None
    assert package.origin is not None
    return (Path(package.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def _broken(page: Page, within: str, rules: tuple[str, ...]) -> list[tuple[str, Any, str]]:
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    ask = "([within, options]) => axe.run(within === 'body' ? document : within, options)"
    report = page.evaluate(ask, [within, options])
    return [
        (
            rule["id"],
            [node["target"] for node in rule["nodes"][:3]],
            rule["nodes"][0]["failureSummary"],
        )
        for rule in report["violations"]
    ]
