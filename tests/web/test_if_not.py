"""What if a change of the plan had not been made: offered at a ▲, a decision and the headline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from storage.store import open_reader
from tests.contract.test_branches import Recorded
from tests.contract.test_if_not import changes, drifting, piloted
from tests.web.conftest import OpenPage, until
from tests.web.site import served

pytestmark = pytest.mark.web

LINE = "document.querySelector('.pw-strip-track .pw-ifnot-line').getAttribute('points')"


class Replayed(NamedTuple):
    """A run that ended and can be replayed, on a dashboard without an engine; a decision of it."""

    url: str
    run: Recorded
    seq: int
    batch: int


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replayed]:
    recorded = drifting(Path(tmp_path_factory.mktemp("if-not")))
    with open_reader(recorded.store) as reader:
        decision = changes(reader, recorded.id)[0]
    with served(recorded.store) as url:
        yield Replayed(url, recorded, decision.seq, decision.batch)


def test_a_decision_is_replayed_with_the_plan_before_kept(
    open_page: OpenPage, replayed: Replayed
) -> None:
    id = replayed.run.id
    path = f"/decisions?run={id}&node={replayed.seq}&unit=asc.S"
    page = open_page(path, site_url=replayed.url)
    asks = page.locator(".pw-dcard").get_by_role("button", name="What if it had not?")
    asks.click()
    box = page.locator("#pw-ifnot")
    expect(box).to_have_attribute("data-state", "offered")
    expect(box).to_contain_text("No engine is at work here.")
    words = shlex.split(box.locator("code").inner_text())[3:-2]
    assert replayed.run.branch(*[word for word in words if not word.startswith("--store")]) == 0
    box.get_by_role("button", name="Close").click()
    expect(box).to_have_count(0)
    asks.click()
    expect(box).to_have_attribute("data-state", "ready")
    expect(box.locator(".pw-ifnot-said")).to_contain_text("This change")
    expect(box.locator("svg .pw-ifnot-area")).to_have_count(1)
    until(page, f"{LINE}.split(' ').length > 5")
    box.get_by_role("link", name="Compare both runs").click()
    until(page, "location.pathname === '/compare'")
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    until(page, f"!{LINE}")


def test_a_mark_of_the_strip_and_the_headline_offer_it(
    open_page: OpenPage, replayed: Replayed
) -> None:
    page = open_page(f"/plan?run={replayed.run.id}", site_url=replayed.url)
    page.locator(".pw-mark[data-kind=rearrangement]").last.click()
    box = page.locator("#pw-ifnot")
    expect(box).to_contain_text("After batch ")
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    page.locator(".pw-gain-last").get_by_role("button", name="What if it had not?").click()
    expect(box).to_contain_text("After batch ")


def test_a_switch_of_the_autopilot_is_told_at_once(open_page: OpenPage, tmp_path: Path) -> None:
    """By later looks: nothing is replayed, and there is nothing to compare with."""
    store = piloted(tmp_path)
    with open_reader(store) as reader:
        (run,) = reader.runs()
        rows = reader.decisions(run.id, verdicts=("switched",), limit=99, unit="asc.S")
        seq = min(row.decision.seq for row in rows if row.decision.kind == "look")
    with served(store) as url:
        page = open_page(f"/decisions?run={run.id}&node={seq}&unit=asc.S", site_url=url)
        page.locator(".pw-dcard").get_by_role("button", name="What if it had not?").click()
        box = page.locator("#pw-ifnot")
        expect(box).to_have_attribute("data-state", "priced")
        expect(box.locator(".pw-ifnot-said")).to_contain_text("This switch")
        expect(box).to_contain_text("nothing was replayed")
        expect(box.get_by_role("link")).to_have_count(0)
