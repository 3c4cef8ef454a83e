"""A face that no file of the dashboard names: its page, its script and its sheet in the browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.engine_runs import RUN_ID
from tests.systems.registered import lines_of
from tests.systems.test_toy_core import UNIT, started
from tests.systems.toy_core import face, panel
from tests.systems.toy_core.vocabulary import TURNING
from tests.web.conftest import OpenPage
from tests.web.site import served

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard on a run of the turning core."""
    with lines_of(TURNING, face.FACE):
        run = started(tmp_path_factory.mktemp("face"))
        with served(run.path) as address:
            yield address
        run.close()


def test_its_page_is_drawn_with_its_own_script_and_sheet(open_page: OpenPage, url: str) -> None:
    page = open_page(f"{panel.PAGE}?run={RUN_ID}&unit={UNIT}", site_url=url)
    wheel = page.locator(".pw-wheel")
    expect(wheel).to_have_text("●")
    expect(wheel).to_have_attribute("title", "Wheel of a and b and c: 4")
    expect(wheel).to_have_css("font-size", "20px")
    expect(page.locator("#pw-turns-graph .bars path")).to_have_count(1)
    expect(page.locator(".pw-knob")).to_contain_text("Tuples from turn to turn")
    expect(page.locator(f'.pw-nav-link[data-pw-path="{panel.PAGE}"]')).to_be_visible()
