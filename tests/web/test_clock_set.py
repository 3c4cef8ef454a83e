"""A live page while the clock of the machine is set: no wrong age is said, and nothing freezes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.web.conftest import OpenPage, until
from tests.web.site import Site

pytestmark = pytest.mark.web
HOUR_S = 3600
SetClock = Callable[[Page, float], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Set the clock of page, dashboard and engine by so many seconds from the true time."""
    now, shift_s = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + shift_s[0])

    def set_by(page: Page, seconds: float) -> None:
        shift_s[0] = seconds
        script = (
            "s => { const t = (window.trueNow ??= Date.now); Date.now = () => t() + 1000 * s; }"
        )
        page.evaluate(script, seconds)

    return set_by


def said(page: Page, part: str) -> str:
    """What a part of the header says."""
    return page.locator(f"#pw-{part}").inner_text()


@pytest.mark.parametrize("by_s", [-HOUR_S, HOUR_S], ids=["back", "forward"])
def test_a_live_page_goes_on_when_the_clock_is_set(
    open_page: OpenPage,
    site: Site,
    set_clock: SetClock,
    by_s: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the age of the plan is looked at: it stays
    monkeypatch.setattr("tests.web.recorded.REARRANGED", ())
    page = open_page("/plan")
    with site.feeding():
        until(page, f"planwatch.known.now > {site.recording.next_batch}")
        until(page, drawn_after(site.recording.next_batch))
    page.wait_for_timeout(12_000)  # sleeps: what was drawn waits for nothing more
    set_clock(page, by_s)
    page.wait_for_timeout(1500)  # sleeps: ages are told anew each second
    assert re.search(r" (1[2-9]|[2-5]\d) s", said(page, "age")), "of the time that passed"
    assert re.fullmatch(r"· (\d\d s|\d min) old", said(page, "plan-age"))
    site.feed()
    until(page, f"planwatch.known.now === {site.recording.next_batch - 1}")
    with site.feeding():
        until(page, drawn_after(site.recording.next_batch))
        until(
            page, "/^data [0-4][.][0-9] s old$/.test(document.querySelector('#pw-age').textContent)"
        )
        assert said(page, "run-state") == "running"
        assert re.fullmatch(r"· (\d\d s|\d min) old", said(page, "plan-age"))


def drawn_after(batch: int) -> str:
    """What the server draws, and the strip, are of a later batch."""
    graph = "Number(document.querySelector('#plan-graph')?.dataset.batch)"
    strip = "Number(document.querySelector('#pw-strip-batch')?.textContent.split(' ')[1])"
    return f"Math.min({graph}, {strip}) > {batch}"
