"""The price between two currencies on the Memory page: dragged, tried, and applied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.axe import violations
from tests.web.cals_run import UNIT
from tests.web.conftest import Ask, OpenPage, asking
from tests.web.market_run import MarketRun
from tests.web.site import Site

pytestmark = pytest.mark.web
IS_ALONE = True
RUN = "both"
POOL = 81_920
LINE = ".pw-market-price[data-knob=accuracy_price]"


@pytest.fixture(scope="module")
def run(site: Site) -> Iterator[MarketRun]:
    """Short of memory, at a price of nothing: caches are served first."""
    with closing(MarketRun(Path(site.path), RUN).ticks(8)) as made:
        made.turn("run_pool_bytes", POOL, "")
        made.turn("accuracy_price", 0)
        yield made.ticks(2)


def test_the_price_is_dragged_a_cache_gives_way_and_it_is_applied(
    open_page: OpenPage, site: Site, run: MarketRun
) -> None:
    page = open_page(f"/memory?run={RUN}", scheme="dark", width=1280, height=720)
    line = page.locator(LINE)
    expect(line).to_have_attribute("data-price", "0")
    edge = line.get_by_role("slider")
    line.locator(".pw-price").scroll_into_view_if_needed()
    box = line.locator(".pw-price").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20, steps=4)
    page.mouse.up()
    draft = page.locator(".pw-market-draft")
    expect(draft).to_contain_text("Draft: 0")
    edge.press("End")
    expect(edge).to_have_attribute("aria-valuenow", "1000000")
    expect(draft).to_have_attribute("aria-busy", "false")
    given = "R ⋈ S gives 12 KiB, then the window, as runs gets 12 KiB."
    expect(draft).to_contain_text(f"Draft: 0 µs/tuple → 1 000 000 µs/tuple. {given}")
    expect(page.locator(".pw-pool-going").first).to_be_visible()
    before = run.total("cache", "granted_bytes")
    assert run.loop.settings.scopes[UNIT].number("accuracy_price") == 0
    with asking(page, site.reader, RUN):
        draft.get_by_role("button", name="Apply").click()
    run.ticks(2)
    assert run.loop.settings.scopes[UNIT].number("accuracy_price") == 1_000_000
    expect(line).to_have_attribute("data-price", "1000000")
    assert 0 <= run.total("cache", "granted_bytes") < before
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []


KNOB = {"low": 0, "high": 1e6, "scale": "log", "kind": "float", "default": 1e6, "unit": "us/tuple"}


def test_keys_and_places_of_a_price(ask: Ask) -> None:
    keyed = "m.keyedPrice(knob, key, value)"
    assert ask("price_scale", keyed, knob=KNOB, key="Home", value=5) == 0
    assert ask("price_scale", keyed, knob=KNOB, key="End", value=5) == 1e6
    assert ask("price_scale", keyed, knob=KNOB, key="ArrowRight", value=5) == 5.5
    assert ask("price_scale", keyed, knob=KNOB, key="PageDown", value=1e6) < 3e5
    assert ask("price_scale", f"{keyed} === undefined", knob=KNOB, key="x", value=5)
    places = "[0, 1, 100, 1e6].map((value) => m.pricePlace(knob, value))"
    found = ask("price_scale", places, knob=KNOB)
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, 1)
    assert ask("price_scale", "m.priceAt(knob, m.pricePlace(knob, 12))", knob=KNOB) == 12
