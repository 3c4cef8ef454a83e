"""The pages, in the order of the navigation: a new page adds its import and its place here.

A tuple, not ``dash.register_page``: that registry is one per process, an app is not.
"""

from __future__ import annotations

from typing import Final

from dashboard.pages import decisions, knobs, matrix, plan, results, runs, timeline
from dashboard.pages.contract import Page, always

PAGES: Final[tuple[Page, ...]] = (
    runs.PAGE,
    plan.PAGE,
    matrix.PAGE,
    timeline.PAGE,
    decisions.PAGE,
    knobs.PAGE,
    results.PAGE,
)

__all__ = ["PAGES", "Page", "always"]
