"""The panels of all pages: those of every run, those of the systems, and what stands below."""

from __future__ import annotations

from typing import Any

from dashboard.base.face import faces
from dashboard.panels import common
from dashboard.panels.contract import Panel


def all_panels() -> tuple[Panel[Any], ...]:
    """All of them, in the order pages show them in."""
    return (*common.PANELS, *(panel for face in faces() for panel in face.panels), *common.LAST)
