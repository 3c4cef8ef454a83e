"""A store without runs: every page says what is missing, and fills itself when a run begins."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from dashboard.pages import PAGES
from tests.web.conftest import OpenPage
from tests.web.site import RUNNING, Site

pytestmark = pytest.mark.web
IS_ALONE = True


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_every_page_says_that_there_is_no_run(open_page: OpenPage, path: str) -> None:
    page = open_page(path)
    expect(page.locator("#pw-page")).to_contain_text("No run")
    expect(page.locator("#pw-mode-word")).to_have_text("NO RUN")


def test_the_plan_appears_with_the_first_run_and_batch(open_page: OpenPage, site: Site) -> None:
    page = open_page("/plan")
    expect(page.locator("#pw-page")).to_contain_text("No run")
    site.recording.begin()
    expect(page.locator("#pw-run-state")).to_have_text("starting", timeout=10000)
    expect(page.locator("#plan-graph")).to_contain_text("No plan yet")
    site.feed()
    expect(page.locator("#plan-graph .pw-card").first).to_be_visible()
    # on a busy machine the next batch is late by the time the plan is there
    expect(page.locator("#pw-run-state")).to_have_text(re.compile("running|working"))
    site.feed(3, 0.2)
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "3")
    site.writer.set_state(RUNNING, "ended", "the input ended", site.recording.started_at + 60)
    expect(page.locator("#pw-run-state")).to_have_text("ended")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "replay")
