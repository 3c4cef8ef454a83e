"""axe finds nothing, on every page of every kind of run, in both themes, on desk and phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Literal

import pytest
from playwright.sync_api import ViewportSize, expect

from dashboard.pages import PAGES, PLAN_LOG
from tests.house.test_type import SIZES
from tests.web.axe import violations
from tests.web.conftest import OpenPage, painted, until
from tests.web.engine_run import SelectionRun
from tests.web.joins_run import JoinsRun
from tests.web.kmon_run import KMonRun
from tests.web.recorded_filters import record_filters
from tests.web.site import ENDED, Site
from tests.web.stream_run import StreamRun

pytestmark = pytest.mark.web
#: Pages that have panels of their own for a kind of run.
OWN = {
    "filters": ("/plan", "/matrix"),
    "hybrid": ("/plan", "/matrix"),
    "network": ("/plan", "/matrix", "/memory", "/knobs", "/results"),
    "joins": ("/plan", "/matrix", "/memory", "/knobs", "/timeline", "/decisions"),
    "kmon": ("/plan", "/constraints", "/memory", "/timeline"),
}
DESK: ViewportSize = {"width": 1440, "height": 900}
#: A window of 1280 points at 400 %.
MAGNIFIED: ViewportSize = {"width": 320, "height": 256}
PHONE: ViewportSize = {"width": 390, "height": 844}
Scheme = Literal["light", "dark"]
#: All four for one run, where the second theme of a size is asked about colours alone; of the
#: others each size and each theme once.
VIEWS: list[tuple[ViewportSize, Scheme]] = [
    (DESK, "light"),
    (DESK, "dark"),
    (PHONE, "light"),
    (PHONE, "dark"),
]
#: Rules of axe that a theme may break.
COLOURS = ("color-contrast", "link-in-text-block")
SEEN = [
    *((page.path, f"run={ENDED}&at=120") for page in PAGES if page is not PLAN_LOG),
    (PLAN_LOG.path, "run=looks"),
    *((path, f"run={run}") for run, paths in OWN.items() for path in paths),
]
#: What is folded is looked at, too.
_UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
#: Sizes of all text that is shown, px, with one example of each.
_SIZES = """() => Object.fromEntries([...document.querySelectorAll("body *")]
  .filter((node) => [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim()))
  .filter((node) => node.checkVisibility())
  .map((node) => [parseFloat(getComputedStyle(node).fontSize), node.textContent]))"""


@pytest.fixture(scope="module", autouse=True)
def runs(site: Site) -> Iterator[None]:
    """Beside the recorded run one of every kind, made by the real engine."""
    record_filters(site.path, "filters")
    with ExitStack() as stack:
        for made in (
            SelectionRun(site.path, "hybrid").drift(),
            SelectionRun(site.path, "looks", policy="autopilot").drift(),
            StreamRun(site.path, "network").seconds(3),
            JoinsRun(site.path, "joins").ticks(4),
            KMonRun(site.path, "kmon").seconds(4),
        ):
            stack.enter_context(closing(made))
        yield


@pytest.mark.parametrize(("path", "query"), SEEN)
def test_axe_finds_nothing(open_page: OpenPage, path: str, query: str) -> None:
    page = open_page(f"{path}?{query}", motion="reduce")
    sizes_seen: list[ViewportSize] = []
    for view, scheme in VIEWS if ENDED in query else VIEWS[::3]:
        page.set_viewport_size(view)
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector("#pw-page h1", state="attached")
        expect(page.locator("html")).to_have_attribute("data-theme", scheme)
        page.evaluate(_UNFOLD)
        painted(page)
        rules = COLOURS if view in sizes_seen else ()
        assert violations(page, rules=rules) == [], (view, scheme)
        sizes_seen.append(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= view["width"]
    page.set_viewport_size(MAGNIFIED)
    until(page, f"document.documentElement.scrollWidth <= {MAGNIFIED['width']}")
    sizes = page.evaluate(_SIZES)
    assert {size: text for size, text in sizes.items() if int(size) not in SIZES.values()} == {}
