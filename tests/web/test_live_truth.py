"""While LIVE every number of a plan is of the batch that the header names, or says of which it is:
the page is held against one opened on that batch."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.unit.asc.stream import a_filters, b_filters, tuples
from tests.web.conftest import OpenPage, until
from tests.web.engine_run import SelectionRun
from tests.web.joins_run import JoinsRun
from tests.web.site import Site
from tests.web.stream_run import StreamRun

pytestmark = pytest.mark.web
#: Moments that are compared of each run; many more where time does not matter.
MOMENTS = 6
MANY = 200

#: What the graph says, by card and by edge, and of which batch.
READ = """() => {
  const graph = document.querySelector('.pw-graph');
  const text = (node) => [...node.querySelectorAll('text')].map((t) => t.textContent).join(' | ');
  const cards = [...graph.querySelectorAll('.pw-card')].map(text);
  const queues = [...graph.querySelectorAll('.pw-queue-size')].map((t) => t.textContent);
  return { batch: Number(graph.dataset.batch), version: graph.dataset.version,
           older: graph.dataset.older || '', cards, queues };
}"""
HEADER = "() => window.planwatch.known.now"


def told(page: Page) -> dict[str, Any]:
    """What the graph says once it has drawn the batch of the header, or says that it has not."""
    until(
        page,
        "(() => { const g = document.querySelector('.pw-graph');"
        " return Number(g.dataset.batch) === window.planwatch.known.now || g.dataset.older; })()",
    )
    return dict(page.evaluate(READ))


def compared(
    open_page: OpenPage, run_id: str, step: Callable[[random.Random], None], moments: int
) -> None:
    """Feed batches while a page is LIVE, and hold what it says against a page of that batch."""
    rng = random.Random(moments)
    live = open_page(f"/plan?run={run_id}")
    replay = open_page(f"/plan?run={run_id}&at=0")
    until(live, "document.querySelector('#pw-shell').dataset.link === 'stream'")
    n_whole = 0
    for _ in range(moments):
        for _ in range(rng.randint(1, 4)):
            step(rng)
        live.mouse.move(rng.randint(1, 400), rng.randint(1, 400))
        live.wait_for_timeout(rng.randint(300, 1500))
        now = told(live)
        if now["older"]:
            continue  # it names its batch; numbers of it are not the header's
        n_whole += 1
        replay.evaluate(f"window.planwatch.go({{ at: {now['batch']} }})")
        until(replay, f"document.querySelector('.pw-graph').dataset.batch === '{now['batch']}'")
        until(replay, f"document.querySelector('.pw-graph').dataset.version === '{now['version']}'")
        then = dict(replay.evaluate(READ))
        assert now["cards"] == then["cards"], now["batch"]
        assert now["queues"] == then["queues"], now["batch"]
    assert n_whole > moments / 2


@pytest.fixture(scope="module")
def selection(site: Site) -> Iterator[SelectionRun]:
    run = SelectionRun(site.path, "live-selection", ordering="macro").run(tuples(600, 1))
    yield run
    run.close()


def _feed(run: SelectionRun) -> Callable[[random.Random], None]:
    kinds = (a_filters, b_filters, tuples)

    def step(rng: random.Random) -> None:
        make = rng.choice(kinds)
        n = rng.randint(20, 400)
        run.run(make(n, rng.randrange(1000)), batch_tuples=n)

    return step


def test_a_selection_is_true_while_live(open_page: OpenPage, selection: SelectionRun) -> None:
    compared(open_page, "live-selection", _feed(selection), MOMENTS)


def test_a_network_is_true_while_live(open_page: OpenPage, site: Site) -> None:
    run = StreamRun(site.path, "live-network").seconds(2)

    def step(rng: random.Random) -> None:
        run.seconds(rng.randint(1, 2))

    compared(open_page, "live-network", step, MOMENTS)
    run.close()


def test_joins_are_true_while_live(open_page: OpenPage, site: Site) -> None:
    run = JoinsRun(site.path, "live-joins").ticks(2)

    def step(_: random.Random) -> None:
        run.ticks(1)

    compared(open_page, "live-joins", step, MOMENTS)
    run.close()


@pytest.mark.slow
def test_many_moments_are_true_while_live(open_page: OpenPage, selection: SelectionRun) -> None:
    compared(open_page, "live-selection", _feed(selection), MANY)
