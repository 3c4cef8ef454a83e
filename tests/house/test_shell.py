"""The frame itself: pages, navigation, theme boot, unknown places; assets stay small."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import plotly.utils
import pytest

from dashboard.base import ids
from dashboard.base.context import Context, Moment
from dashboard.pages import PAGES
from dashboard.serving.services import Services
from dashboard.web.shell import build_shell, lay_out

ASSETS = Path(__file__).resolve().parents[2] / "assets"
NO_SERVICES = cast(Services, SimpleNamespace())
NOTHING = Context(Moment(), None, None, None)


def text_of(component: Any) -> str:
    """The component as it goes over the wire."""
    return json.dumps(component, cls=plotly.utils.PlotlyJSONEncoder, ensure_ascii=False)


def test_pages_have_distinct_paths_and_keys() -> None:
    assert len({page.path for page in PAGES}) == len(PAGES)
    assert len({page.key for page in PAGES}) == len(PAGES)
    assert PAGES[0].path == "/"


def test_the_frame_holds_every_page_and_store() -> None:
    frame = text_of(build_shell(NO_SERVICES))
    for page in PAGES:
        assert f'"data-pw-path": "{page.path}"' in frame
        assert f"g {page.key}" in frame
    for store in (ids.MOMENT, ids.NEWS, ids.PAGE_KEY, ids.SNAPSHOT, ids.THEME):
        assert f'"id": "{store}"' in frame
    assert '"role": "status"' in frame


def test_unknown_places_say_what_there_is() -> None:
    assert "Nothing is at /nowhere" in text_of(lay_out("/nowhere", NOTHING, NO_SERVICES))
    unknown = Context(Moment("gone"), None, None, None)
    assert "no run 'gone'" in text_of(lay_out("/plan", unknown, NO_SERVICES))


SYSTEMS = ASSETS.parent / "dashboard" / "systems"
OWN = [
    *(path for path in ASSETS.rglob("*.*s") if path.parent.name != "vendor"),
    *SYSTEMS.rglob("*.js"),
    *SYSTEMS.rglob("*.css"),
]


@pytest.mark.parametrize("path", sorted(OWN), ids=lambda path: path.name)
def test_assets_are_small_and_ask_nobody_else(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    strangers = set(re.findall(r"https?://[^\s\"')]+", text)) - {"http://www.w3.org/2000/svg"}
    assert strangers == set()
