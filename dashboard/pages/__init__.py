"""The pages, in the order of the navigation: a new page adds its place here.

A tuple, not ``dash.register_page``: that registry is one per process, an app is not.
"""

from __future__ import annotations

from typing import Final

from dashboard.base.face import faces
from dashboard.pages import plan
from dashboard.pages.contract import Page

_START: Final = "Start one with python3 run.py; its {} here."

RUNS: Final = Page(
    path="/",
    title="Runs",
    icon="M4 6h16M4 12h16M4 18h10",
    key="r",
    missing="",
    steady=True,
)
MATRIX: Final = Page(
    path="/matrix",
    title="Matrix",
    icon="M4 4h16v16H4zM4 10h16M4 15h16M10 4v16M15 4v16",
    key="m",
    missing=_START.format("matrices appear"),
    nothing="Matrices come with the first profile window.",
    columns="pw-columns",
)
TIMELINE: Final = Page(
    path="/timeline",
    title="Timeline",
    icon="M3 17l5-6 4 4 5-8 4 5M3 21h18",
    key="t",
    missing=_START.format("timeline appears"),
    steady=True,
)
MONITOR: Final = Page(
    path="/monitor",
    title="Monitor",
    icon="M3 4h18v12H3zM8 20h8M12 16v4M6 12l3-4 3 3 3-5 3 4",
    key="g",
    missing=_START.format("graphs appear"),
    steady=True,
)
ALERTS: Final = Page(
    path="/alerts",
    title="Alerts",
    icon="M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4",
    key="a",
    missing=_START.format("alerts appear"),
    steady=True,
)
DECISIONS: Final = Page(
    path="/decisions",
    title="Decisions",
    icon="M12 3v6M12 9l-6 6M12 9l6 6M4 19l2-4 2 4zM16 19l2-4 2 4z",
    key="d",
    missing=_START.format("decisions appear"),
    nothing="Nothing was evaluated yet: the first check comes after λ tuples.",
    columns="pw-decisions",
)
PLAN_LOG: Final = Page(
    path="/planlog",
    title="Plan log",
    icon="M4 20V4M4 20h16M8 15l3-5 4 3 4-7M8 15h.01M11 10h.01M15 13h.01M19 6h.01",
    key="l",
    missing=_START.format("evaluations and looks of the autopilot appear"),
    nothing="Plans are logged where the autopilot decides: see Who decides on Knobs.",
    columns="pw-log-columns",
)
MEMORY: Final = Page(
    path="/memory",
    title="Memory",
    icon="M5 7h14v10H5zM9 11h6v2H9zM8 3v4M12 3v4M16 3v4M8 17v4M12 17v4M16 17v4",
    key="y",
    missing=_START.format("memory appears"),
    steady=True,
)
KNOBS: Final = Page(
    path="/knobs",
    title="Knobs",
    icon="M4 6h9M17 6h3M4 12h3M11 12h9M4 18h11M19 18h1M13 4v4M7 10v4M15 16v4",
    key="k",
    missing="Knobs belong to a run; there is none in this store. Start one with python3 run.py.",
    steady=True,
)
RESULTS: Final = Page(
    path="/results",
    title="Results",
    icon="M4 5h16v14H4zM4 10h16M9 10v9M13 14h4",
    key="e",
    missing=_START.format("results appear"),
    nothing="This run registered no query.",
    columns="pw-results",
)
SQL: Final = Page(
    path="/sql",
    title="SQL",
    icon="M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0",
    key="q",
    missing=_START.format("its records can be asked"),
    steady=True,
)
COMPARE: Final = Page(
    path="/compare",
    title="Compare",
    icon="M4 20V10h5v10M15 20V4h5v16M2 20h20",
    key="c",
    missing=_START.format("numbers appear"),
    steady=True,
)
POSTMORTEM: Final = Page(
    path="/postmortem",
    title="Post-mortem",
    icon="M5 3h10l4 4v14H5zM15 3v4h4M8 11h8M8 15h8M8 7h4",
    key="o",
    missing=_START.format("story appears"),
    steady=True,
)
PAGES: Final[tuple[Page, ...]] = (
    RUNS,
    plan.PAGE,
    MATRIX,
    TIMELINE,
    MONITOR,
    ALERTS,
    DECISIONS,
    PLAN_LOG,
    MEMORY,
    KNOBS,
    RESULTS,
    COMPARE,
    POSTMORTEM,
    SQL,
)


def all_pages() -> tuple[Page, ...]:
    """Those of every run, then those that systems have for themselves."""
    return (*PAGES, *(page for face in faces() for page in face.pages))


__all__ = ["PAGES", "Page", "all_pages"]
