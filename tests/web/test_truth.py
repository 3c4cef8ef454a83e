"""A live page says nothing that the record does not: each of its numbers is that of the batch in
the header, or of the older one that it names."""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.engine_runs import EngineRun
from tests.shipped_runs import demo
from tests.unit.asc.stream import a_filters, b_filters
from tests.web.conftest import OpenPage, painted, until
from tests.web.engine_run import SelectionRun
from tests.web.joins_run import JoinsRun
from tests.web.recorded_filters import FilterRecording
from tests.web.site import RUNNING, Site, served
from tests.web.stream_run import StreamRun
from tests.web.truth import Mismatch, mismatches, read, stepping, watched

pytestmark = pytest.mark.web
N_MOMENTS = 24
#: Batches of the reasons in frames in which they look newer than they are.
_UNMARKED = """() => {
  window.unmarked = [];
  const look = () => {
    const { asOf, older } = document.getElementById("plan-inspector-why").dataset;
    const shown = document.getElementById("pw-strip-batch").textContent.replace(/\\D/g, "");
    if (asOf !== shown && older === undefined) unmarked.push(asOf);
    requestAnimationFrame(look);
  };
  look();
}"""
_HEAD = "plan-inspector-head"
#: Requests for what callbacks draw, whatever follows their path.
_UPDATES = "**/_dash-update-component*"
#: What is older and draws a word of its own over what stands there.
_COVERED = """() => [...document.querySelectorAll("[data-older]")]
  .filter((node) => getComputedStyle(node, "::after").content !== "none").map((node) => node.id)"""
#: Of each demo, in the long run.
N_LONG = int(os.environ.get("PLANWATCH_TRUTH_MOMENTS", "150"))
DEMOS = ("flights", "flight_filters", "mixed", "stream", "joins", "linear_road", "drift")


_NUMBERS = count()


def named(kind: str) -> str:
    """An id for another run: tests share a store."""
    return f"true-{kind}-{next(_NUMBERS)}"


def _selections(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run, number = SelectionRun(path, named("selections")), count()

    def step() -> None:
        n = next(number)
        run.run((a_filters if n // 6 % 2 else b_filters)(250, n))

    return run, step


def _filters(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run = FilterRecording(path, named("filters"))
    return run, run.write


def _stream(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run, number = StreamRun(path, named("stream"), queue_capacity=40), count()
    return run, lambda: run.seconds(1, times=1 + next(number) // 5 % 3)


def _joins(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run, number = JoinsRun(path, named("joins")), count()
    return run, lambda: run.ticks(1, r_times=1 + 7 * (next(number) // 6 % 2))


KINDS = {"selections": _selections, "filters": _filters, "stream": _stream, "joins": _joins}


@contextmanager
def living(kind: str, path: Path, period_s: float = 0.5) -> Iterator[str]:
    """A run of the kind that goes on in the background; its id."""
    run, step = KINDS[kind](path)
    try:
        for _ in range(6):
            step()
        with stepping(step, period_s):
            yield run.run_id
    finally:
        run.close()


def opened(open_page: OpenPage, run: str, more: str = "", site: str | None = None) -> Page:
    """The Plan page of the run, drawn. site: address of another dashboard."""
    page = open_page(f"/plan?run={run}{more}", motion="reduce", site_url=site)
    expect(page.locator(".pw-graph .pw-card").first).to_be_visible()
    expect(page.locator("#pw-strip-batch")).not_to_be_empty()
    return page


def nodes_of(page: Page) -> tuple[str | None, ...]:
    """The cards of the graph."""
    ids = page.locator(".pw-card").evaluate_all("all => all.map((one) => one.dataset.id)")
    return (None, *ids)


def told(wrong: list[Mismatch]) -> str:
    """The mismatches by place, the most frequent first, one of each in full."""
    places = Counter(one.place for one in wrong)
    first = {one.place: one for one in reversed(wrong)}
    lines = [f"{n} x {first[place]}" for place, n in places.most_common(40)]
    return "\n".join([f"{len(wrong)} mismatches at {len(places)} places", *lines])


@pytest.mark.parametrize("kind", KINDS)
def test_a_live_plan_page_is_true(open_page: OpenPage, site: Site, kind: str) -> None:
    rng = random.Random(kind)
    with living(kind, site.path) as run:
        page = opened(open_page, run)
        samples = watched(page, N_MOMENTS, rng, nodes_of(page))
    page.context.close()
    replay = opened(open_page, run, "&at=1")
    wrong = mismatches(samples, replay)
    assert not wrong, told(wrong)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("workload", DEMOS)
def test_a_live_plan_page_of_a_demo_is_true(
    open_page: OpenPage, tmp_path: Path, workload: str
) -> None:
    store, rng = tmp_path / "demo.db", random.Random(workload)
    with demo(workload, store) as (run, _), served(store) as url:
        page = opened(open_page, run, site=url)
        samples = watched(page, N_LONG, rng, nodes_of(page))
        page.context.close()
        replay = opened(open_page, run, "&at=1", url)
        wrong = mismatches(samples, replay)
        replay.context.close()
    assert not wrong, told(wrong)


def _agrees(page: Page) -> None:
    """Header, strip and graph come to be of one batch, and nothing is marked as older."""
    strip = "Number(document.getElementById('pw-strip-batch').textContent.replace(/\\D/g, ''))"
    graph = "Number(document.querySelector('.pw-graph').dataset.batch)"
    until(page, f"{strip} === {graph} && !document.querySelector('[data-older]')")


@pytest.mark.parametrize("kind", ["stream", "joins"])
def test_what_rests_is_not_left_a_batch_behind(
    open_page: OpenPage, site: Site, kind: str, tmp_path: Path
) -> None:
    """Also where the last batch is the first under another plan."""
    store = tmp_path / "rests.db"
    run, step = KINDS[kind](store)
    with served(store) as url:
        step()
        page = opened(open_page, run.run_id, site=url)
        _agrees(page)
        for _ in range(40):
            step()
            page.wait_for_timeout(1300)  # sleeps: the pace of the run
            last = run.reader.last_batch(run.run_id)
            if any(plan.batch == last for plan in run.reader.plans(run.run_id)[1:]):
                break
        else:
            pytest.fail("the plan never changed")
        until(page, f"document.querySelector('.pw-graph').dataset.batch === '{last}'")
        _agrees(page)
        assert page.locator("#pw-strip-batch").inner_text() == f"batch {last}"
        run.kill()
        expect(page.locator("#pw-run-state")).to_have_text("interrupted")
        _agrees(page)
        page.context.close()


def test_what_came_before_the_stream_is_drawn_as_well(open_page: OpenPage, tmp_path: Path) -> None:
    """Also where nothing comes after it, and no panel appears, which has all drawn anyway."""
    store, held = tmp_path / "late.db", list[Route]()
    run, step = KINDS["selections"](store)
    with served(store) as url:
        for _ in range(16):
            step()
        page = opened(open_page, run.run_id, site=url)
        page.route("**/live?*", lambda route: held.append(route))
        page.reload()
        reasons = page.locator("#plan-inspector-why")
        expect(reasons).to_have_attribute("data-as-of", "15")
        page.evaluate(_UNMARKED)
        painted(page, 15)
        for _ in range(4):
            step()
        page.wait_for_timeout(200)  # sleeps: no news reaches the page
        held[0].continue_()
        _agrees(page)
        expect(reasons).to_have_attribute("data-as-of", "19")
        assert page.evaluate("unmarked") == []
        run.close()
        page.context.close()


def test_numbers_that_come_late_are_of_the_batch_they_claim(
    open_page: OpenPage, tmp_path: Path
) -> None:
    """Also where the live path has written newer ones in their place."""
    store, held, node = tmp_path / "late.db", list[Route](), "input:T"
    run, step = KINDS["joins"](store)
    with served(store) as url:
        for _ in range(6):
            step()
        page = opened(open_page, run.run_id, f"&node={node}", url)
        _agrees(page)
        page.route(_UPDATES, lambda route: held.append(route))
        page.mouse.move(5, 5)
        step()
        expect(page.locator("#pw-strip-batch")).to_have_text("batch 6")
        while not any(_HEAD in (route.request.post_data or "") for route in held):
            page.wait_for_timeout(20)  # sleeps: until the page has asked
        answers = [(route, route.fetch()) for route in held]
        step()
        expect(page.locator("#pw-strip-batch")).to_have_text("batch 7")
        for route, answer in answers:
            route.fulfill(response=answer)
        expect(page.locator(f"#{_HEAD}")).to_have_attribute("data-as-of", "6")
        late = read(page, node)
        page.context.close()
        assert not mismatches([late], opened(open_page, run.run_id, "&at=1", url))
        run.close()


def test_the_header_says_how_old_panels_are_and_nothing_is_covered(
    open_page: OpenPage, site: Site
) -> None:
    """Not of what is younger than two seconds, nor of forms and sentences without a number."""
    page, held, began = open_page(f"/results?run={RUNNING}"), list[Route](), time.time()
    site.recording.write(began)
    _agrees_with(page, site)
    page.route(_UPDATES, lambda route: held.append(route))
    older, long = page.locator("#pw-older"), page.locator("[data-older='long']")
    site.recording.write(began + 1.9)
    _is_at(page, site)
    assert page.locator("[data-older]").count()
    assert (older.is_visible(), long.count()) == (False, 0)
    site.recording.write(began + 2.1)
    _is_at(page, site)
    expect(older).to_have_text("panels ≤ 2 batches old")
    assert all(re.search(r"\d", text) for text in long.all_inner_texts())
    expect(page.locator("#pw-requests-box")).to_have_attribute("data-older", "just")
    assert page.evaluate(_COVERED) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.unroute(_UPDATES)
    for route in held:
        route.continue_()
    expect(older).to_be_hidden()


def _is_at(page: Page, site: Site) -> None:
    """The header comes to the newest batch."""
    newest = site.recording.next_batch - 1
    expect(page.locator("#pw-strip-batch")).to_have_text(f"batch {newest}")


def _agrees_with(page: Page, site: Site) -> None:
    _is_at(page, site)
    until(page, "!document.querySelector('[data-older]')")


def test_a_query_chosen_on_the_page_is_no_change_of_the_plan(
    open_page: OpenPage, site: Site
) -> None:
    with living("stream", site.path) as run:
        page = open_page(f"/plan?run={run}")
        expect(page.locator(".pw-graph .pw-card").first).to_be_visible()
        for name in ("named", "wet", "All of it"):
            page.locator("#plan-choices").get_by_text(name, exact=True).click()
            for _ in range(12):
                page.wait_for_timeout(150)  # sleeps: looked at while it changes
                assert page.locator(".pw-ghost").count() <= 3
                words = page.locator("#plan-headline").inner_text()
                assert "more," not in words
