"""Golden files: text kept beside the tests; ``PLANWATCH_GOLDEN=update`` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, actual: str) -> None:
    """Compare with tests/golden/<name>; with PLANWATCH_GOLDEN=update write it first."""
    path = GOLDEN / name
    if os.environ.get("PLANWATCH_GOLDEN") == "update":
        path.write_text(actual, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    assert actual == expected, (
        f"{path.name} differs; if intended, rerun with PLANWATCH_GOLDEN=update and review the diff"
    )
