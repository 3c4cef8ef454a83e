"""A live page says nothing that the record does not: each of its numbers is that of the batch in
the header, or of the older one that it names."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.engine_runs import EngineRun
from tests.unit.asc.stream import a_filters, b_filters
from tests.web.conftest import OpenPage
from tests.web.engine_run import SelectionRun
from tests.web.joins_run import JoinsRun
from tests.web.recorded_filters import FilterRecording
from tests.web.site import Site
from tests.web.stream_run import StreamRun
from tests.web.truth import Mismatch, mismatches, stepping, watched

pytestmark = pytest.mark.web
N_MOMENTS = int(os.environ.get("PLANWATCH_TRUTH_MOMENTS", "24"))


def _selections(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run, number = SelectionRun(path, "true-selections"), count()

    def step() -> None:
        n = next(number)
        run.run((a_filters if n // 6 % 2 else b_filters)(250, n))

    return run, step


def _filters(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run = FilterRecording(path, "true-filters")
    return run, run.write


def _stream(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run, number = StreamRun(path, "true-stream", queue_capacity=40), count()
    return run, lambda: run.seconds(1, times=1 + next(number) // 5 % 3)


def _joins(path: Path) -> tuple[EngineRun, Callable[[], object]]:
    run, number = JoinsRun(path, "true-joins"), count()
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


def opened(open_page: OpenPage, run: str, more: str = "") -> Page:
    """The Plan page of the run, drawn."""
    page = open_page(f"/plan?run={run}{more}", motion="reduce")
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
