"""The Shedding page of a run that the real engine makes: its curve is dragged, and obeyed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import expect

from dashboard.systems.cals.history import CURVE, RACE
from tests.web.axe import violations
from tests.web.cals_run import UNIT, CalsRun
from tests.web.conftest import Ask, OpenPage, asking
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "cals-live"
PAGE = f"/shed?run={RUN}"
#: Tuples that the window may keep, of 400.
LIMIT = 250
SECTION = "#pw-shed-curve section[data-window]"


@pytest.fixture(scope="module")
def run(site: Site) -> Iterator[CalsRun]:
    """The running run, whose window sheds."""
    knobs = {"memory_tuples": LIMIT, "audit": "exact", "state_form": "tuples"}
    with closing(CalsRun(site.path, RUN, **knobs).seconds(14)) as made:
        yield made


def seen(site: Site, name: str) -> float:
    """A number of the window, as it is on record."""
    (window,) = (one.id for one in site.reader.entities(RUN) if one.role == "shed")
    value = site.reader.values(RUN)[window][name]
    assert value is not None
    return value


def test_the_point_of_the_curve_is_moved_and_receipts_and_accuracy_follow(
    open_page: OpenPage, site: Site, run: CalsRun
) -> None:
    page = open_page(PAGE, scheme="dark", width=1280, height=720)
    own = page.locator(SECTION)
    expect(own).to_have_attribute("data-limit", str(LIMIT))
    before = seen(site, "measured_accuracy")
    assert (seen(site, "resident_tuples"), seen(site, "limit_tuples")) == (LIMIT, LIMIT)
    slider = own.get_by_role("slider")
    slider.focus()
    for _ in range(3):
        slider.press("PageDown")
    expect(own).to_have_attribute("data-limit", "130")
    told = own.get_by_role("status").first
    expect(told).to_contain_text("120 tuples of 250 in a shard would go at once")
    expect(told).to_contain_text(f"it is {before:.2f} now")
    with asking(page, site.reader, RUN):
        own.get_by_role("button", name="Keep at most 130 tuples").click()
    run.seconds(1)
    assert seen(site, "resident_tuples") == seen(site, "limit_tuples") == 130
    assert 120 <= seen(site, "shed_tuples") <= 170
    assert seen(site, "measured_accuracy") < before
    expect(page.locator("#pw-shed-windows")).to_contain_text("the limit was lowered")
    expect(own.locator(".pw-chip")).to_contain_text("applied at batch")
    page.locator("#pw-shed-reason").get_by_text("Limit lowered").click()
    expect(page.locator("#pw-shed-receipts tbody tr").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


def test_a_larger_limit_brings_nothing_back_until_the_window_has_passed(
    open_page: OpenPage, site: Site, run: CalsRun
) -> None:
    page = open_page(PAGE)
    own = page.locator(SECTION)
    own.get_by_role("slider").press("End")
    expect(own.get_by_role("status").first).to_contain_text("nothing that was shed comes back")
    with asking(page, site.reader, RUN):
        own.get_by_role("button", name="Keep all tuples").click()
    run.seconds(1)
    assert seen(site, "resident_tuples") < 400
    assert seen(site, "shed_share") > 0
    run.seconds(8)
    assert (seen(site, "resident_tuples"), seen(site, "shed_share")) == (400, 0)
    ends = site.reader.decisions(RUN, unit=UNIT)
    (end,) = (one.decision for one in ends if one.decision.explanation.startswith("answers are"))
    expect(page.locator("#pw-shed-windows")).to_contain_text("exact")
    assert end.batch > 15


def test_the_curve_and_the_race_are_on_record_and_replayed(
    open_page: OpenPage, site: Site, run: CalsRun
) -> None:
    kinds = {key.kind: key.name for key in site.reader.matrix_keys(RUN, UNIT)}
    curve = site.reader.matrix(RUN, kinds[CURVE], 13, UNIT)
    assert curve is not None
    assert curve.matrix.values[-1][3] == 1
    page = open_page(f"{PAGE}&at=13")
    own = page.locator(SECTION)
    expect(own).to_contain_text(f"as of batch {curve.batch}")
    expect(own).to_have_attribute("data-limit", str(LIMIT))
    race = page.locator("#pw-shed-race li")
    expect(race).to_have_count(7)
    raced = site.reader.matrix(RUN, kinds[RACE], 13, UNIT)
    assert raced is not None
    expect(race.first).to_have_attribute("data-algorithm", raced.matrix.rows[0])


class TestPoints:
    """curve_points.js."""

    POINTS: tuple[dict[str, Any], ...] = (
        {
            "limit": 0,
            "tuples": 0,
            "bytes": 0,
            "accuracy": 0,
            "at_once": 0,
            "going": [["71", 4], ["70", 40]],
        },
        {
            "limit": 100,
            "tuples": 200,
            "bytes": 800,
            "accuracy": 0.6,
            "at_once": 0.4,
            "going": [["71", 2]],
        },
        {"limit": 400, "tuples": 800, "bytes": 3200, "accuracy": 1, "at_once": None, "going": []},
    )

    def test_between_two_points_it_is_as_on_a_line(self, ask: Ask) -> None:
        half = ask("curve_points", "m.pointAt(points, 50)", points=self.POINTS)
        assert (half["accuracy"], half["at_once"], half["tuples"]) == (0.3, 0.2, 100)
        assert half["going"] == [["70", 20], ["71", 3]]
        above = ask("curve_points", "m.pointAt(points, 250)", points=self.POINTS)
        assert (above["accuracy"], above["at_once"]) == (0.8, None)
        ends = "[0, 400, 900].map((limit) => m.pointAt(points, limit).accuracy)"
        assert ask("curve_points", ends, points=self.POINTS) == [1, 1, 1]

    def test_places_and_keys_ask_for_whole_tuples_and_the_end_for_no_limit(self, ask: Ask) -> None:
        places = "[0, 0.5, 0.999, 1].map((share) => m.limitAt(points, share))"
        assert ask("curve_points", places, points=self.POINTS) == [1, 200, 400, 0]
        keyed = "m.keyedLimit(points, key, limit)"
        steps = [
            ("ArrowRight", 100, 104), ("PageDown", 100, 60), ("PageDown", 20, 1), ("End", 5, 0),
            ("ArrowUp", 398, 0), ("ArrowLeft", 0, 396), ("Home", 9, 1), ("x", 9, None),
        ]  # fmt: skip
        for key, limit, wanted in steps:
            given = {"points": self.POINTS, "key": key, "limit": limit}
            assert ask("curve_points", keyed, **given) == wanted, key
