"""axe finds nothing, on every page, in both themes; every page opens without a complaint."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from dashboard.pages import PAGES
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.web


def axe_source() -> str:
    """The axe script that axe-core-python ships."""
    found = importlib.util.find_spec("axe_core_python")
    assert found is not None
    assert found.origin is not None
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_axe_finds_nothing(open_page: OpenPage, path: str, scheme: str) -> None:
    page = open_page(f"{path}?run=r1&at=120", scheme=scheme)
    page.wait_for_selector("#pw-page h1", state="attached")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(800)
    page.evaluate(axe_source())
    report: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    found = [
        (
            one["id"],
            [node["target"] for node in one["nodes"][:3]],
            one["nodes"][0]["failureSummary"],
        )
        for one in report["violations"]
    ]
    assert found == []
