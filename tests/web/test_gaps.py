"""A run that was killed and went on: how long there was no engine, on strip and timeline."""

from __future__ import annotations

import time
from dataclasses import replace

from playwright.sync_api import expect

from storage.vocabulary.records import Batch, BatchRecord
from tests.web.conftest import OpenPage
from tests.web.site import ENDED, N_ENDED, Site


def go_on(site: Site, after_s: float) -> None:
    """Let the ended run go on, and write its next batch."""
    run, newest = site.reader.run(ENDED), site.reader.batch(ENDED, N_ENDED - 1)
    assert run is not None
    assert run.ended_at is not None
    assert newest is not None
    moment = run.ended_at + after_s
    site.writer.resume_run(ENDED, moment, "2", {}, run.inputs, "plans are kept")
    batch: Batch = replace(newest, id=N_ENDED, time=moment + 1)
    site.writer.write_batch(BatchRecord(ENDED, batch))
    site.writer.set_state(ENDED, "ended", "", time.time())


def test_the_gap_is_on_the_strip_the_timeline_and_in_its_table(
    open_page: OpenPage, site: Site
) -> None:
    go_on(site, 250)
    page = open_page(f"/timeline?run={ENDED}")
    words = "no engine for 4 min 10 s"
    strip = page.get_by_role("img", name=f"{words} before batch {N_ENDED}")
    expect(strip).to_be_visible()
    graph = page.locator("#pw-timeline-graph")
    expect(graph).to_contain_text(words)
    shapes = "document.querySelector('#pw-timeline-graph .js-plotly-plot').layout.shapes"
    assert page.evaluate(f"{shapes}.filter(s => s.name === 'gap').length") == 2
    page.keyboard.press("t")
    expect(page.get_by_role("row", name=words)).to_contain_text("plans are kept")
