"""Sentences that are derived from a record, recomputed from the rows of its store a second way."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import plotly
import pytest

from dashboard.base.context import Context, Moment, resolve
from dashboard.pages.headline import draw_headline
from dashboard.pages.plan_facts import read
from dashboard.panels.common import compare, market
from dashboard.panels.contract import PanelScope, Sheet
from dashboard.panels.turns import BATCHES, effects
from dashboard.systems.asc import whatif
from dashboard.systems.joins import caches
from dashboard.views.plan import graph_values
from storage.exchange.recordings import unpacked
from storage.reader import Reader, open_reader
from tests.oracles import derived
from tests.unit.dashboard_pages.test_pages import as_text
from tests.web.joins_run import UNIT, JoinsRun
from tests.web.market_run import MarketRun

RECORDING = Path(__file__).parents[3] / "storage" / "recordings" / "flights.planwatch.gz"


class Record(NamedTuple):
    """A run as the dashboard reads it, and its rows."""

    reader: Reader
    db: sqlite3.Connection
    run: str

    def at(self, batch: int | None = None, show: str | None = None) -> Context:
        return resolve(self.reader, Moment(self.run, at=batch, show=show))

    def headline(self, batch: int) -> str:
        context = self.at(batch)
        facts = read(self.reader, context)
        drawn = draw_headline(self.reader, context, facts.units, facts.values)
        return json.dumps(drawn, cls=plotly.utils.PlotlyJSONEncoder, ensure_ascii=False)


@pytest.fixture(scope="module")
def flights() -> Iterator[Record]:
    """The recording that is shipped."""
    with unpacked(RECORDING) as path, open_reader(str(path)) as reader:
        (run,) = reader.runs()
        yield Record(reader, sqlite3.connect(path), run.id)


@pytest.fixture(scope="module")
def joins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    """A run of a join with caches, whose pool is turned after 40 batches."""
    path = tmp_path_factory.mktemp("derived") / "planwatch.db"
    run = JoinsRun(path, "caches").ticks(40)
    run.ask("knob", {"knob": "pool_bytes", "value": 8192, "scope": UNIT})
    run.ticks(12)
    yield Record(run.reader, sqlite3.connect(path), "caches")
    run.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    """A run of caches beside a window that sheds, short of memory."""
    path = tmp_path_factory.mktemp("derived") / "planwatch.db"
    run = MarketRun(path, "both").ticks(6)
    run.turn("run_pool_bytes", 81_920, "")
    yield Record(run.ticks(3).reader, sqlite3.connect(path), "both")
    run.close()


@pytest.mark.parametrize("batch", [20, 97, 209])
def test_the_headline_says_what_adapting_saved(flights: Record, batch: int) -> None:
    share, half = derived.saved_of_first_order(flights.db, batch)
    words = flights.headline(batch)
    if abs(share) <= half:
        assert "adapting saved nothing yet" in words
        assert '"The first plan is in force"' in words or '"The plan changed"' in words
    else:
        assert f"Adapting {'saved' if share > 0 else 'lost'}" in words
        assert f"{100 * abs(share):.0f}\u2009%" in words


def test_the_headline_names_the_batch_of_the_change_and_of_the_plan(flights: Record) -> None:
    text = "select batch from decisions where verdict = 'switched' order by batch desc limit 1"
    ((batch,),) = flights.db.execute(text).fetchall()
    words = flights.headline(209)
    assert f"after batch {batch}, in force " in words
    assert f"from batch {batch + 1}" in words


@pytest.mark.parametrize("mu", [None, 0.02, 0.3, 2.0])
def test_what_if_counts_the_changes_on_record_up_to_where_it_can_decide(
    flights: Record, mu: float | None
) -> None:
    context = flights.at(show=None if mu is None else str(mu))
    ghost = whatif.build(flights.reader, context, PanelScope())
    assert ghost is not None
    told = ghost.compared
    assert told.common + told.vanish == derived.switches_until(flights.db, told.until)
    words = as_text(whatif.draw(ghost, Sheet(context)).body)
    assert f"{told.vanish} would vanish, {told.appear} would appear" in words
    if mu is None:
        assert (told.vanish, told.appear, told.n_unknown) == (0, 0, 0)
        assert "0 would vanish, 0 would appear" in words
    if told.until is not None:
        assert told.n_unknown == derived.evaluations_after(flights.db, told.until)
        assert f"{told.n_unknown} later evaluations are not decidable" in words


def test_compare_says_by_how_much_numbers_differ_and_who_switched(flights: Record) -> None:
    context = flights.at(show=f"{flights.run},0,99~{flights.run},100,199~batch")
    view = compare.build(flights.reader, context, PanelScope())
    words = as_text(compare.draw(view, Sheet(context)).body)
    for name in ("visits_per_tuple", "dropping_ratio", "tuples_per_s", "batch_ms"):
        own = derived.values(flights.db, "system", name)
        sides = [[own[b] for b in range(first, first + 100) if b in own] for first in (0, 100)]
        share, half = derived.change(*sides)
        (line,) = (line for line in view.lines if line.property == name)
        assert line.change.share is not None
        assert line.change.share.mean == pytest.approx(share)
        assert derived.as_told(share, half) in words, name
    n = [sum(d.side in (side, "both") for d in view.decisions) for side in ("A", "B")]
    assert n == [derived.switches(flights.db, first, first + 99) for first in (0, 100)]


@pytest.mark.parametrize("batch", [9, 39, 51])
def test_what_caches_save_is_one_number_with_its_interval(joins: Record, batch: int) -> None:
    pool = derived.owner(joins.db, "cached_cost")
    cached, plain = (derived.values(joins.db, pool, name) for name in ("cached_cost", "plain_cost"))
    newest = [b for b in sorted(plain) if b in cached and batch - 9 <= b <= batch]
    spent, other = (math.fsum(side[b] for b in newest) for side in (cached, plain))
    (join,) = caches.build(joins.reader, joins.at(batch), PanelScope()) or []
    assert join.saving is not None
    errors = [cached[b] - spent / other * plain[b] for b in newest]
    n = len(newest)
    half = derived.Z * math.sqrt(n * math.fsum(e * e for e in errors) / (n - 1)) / other
    share = 1 - spent / other
    assert join.saving.share == pytest.approx(share)
    ends = pytest.approx((share - half, share + half), rel=1e-4)
    assert (join.saving.low, join.saving.high) == ends
    if abs(share) > half:
        words = f"{100 * abs(share):.0f}\u2009%"
        assert words in join.verdict
        assert words in joins.headline(batch)


def test_what_a_turn_came_to_is_that_of_the_batches_before_and_after(joins: Record) -> None:
    (turn,) = joins.reader.commands(joins.run)
    first = turn.applied_batch
    assert first is not None
    judged = effects(joins.reader, joins.run, [turn], None)[turn.id]
    own = derived.values(joins.db, derived.owner(joins.db, "network_us"), "network_us")
    before, after = (
        [own[b] for b in sorted(own) if low <= b < high]
        for low, high in ((first - BATCHES, first), (first, first + BATCHES))
    )
    share, half = derived.change(before, after)
    told = f"time per tuple {derived.as_told(share, half)}".replace(" %", "\u2009%")
    assert told in judged.near.words
    assert ("no measurable effect" in judged.near.words) == (abs(share) <= half)


def test_what_a_limit_was_to_save_stands_beside_what_it_came_to(joins: Record) -> None:
    (turn,) = joins.reader.commands(joins.run)
    assert turn.applied_batch is not None
    last = joins.reader.last_batch(joins.run)
    assert last is not None
    found = market.build(joins.reader, joins.at(), PanelScope())
    assert found is not None
    (told,) = found.turned.values()
    before = market.read_market(joins.reader, joins.run, turn.applied_batch - 1)
    assert before is not None
    forecast = before.tried("pool_bytes", UNIT, 8192)
    assert forecast is not None
    pages = derived.pages_by_price(joins.db, turn.applied_batch - 1)
    now = derived.pages_by_price(joins.db, last)
    consumers = dict.fromkeys((consumer for _, consumer, _ in (*pages, *now)), 65_536)
    less = dict.fromkeys(consumers, 8192)
    saved, _ = derived.auction(pages, None, consumers)
    assert forecast.share == pytest.approx(derived.auction(pages, None, less)[0] / saved - 1)
    saved, _ = derived.auction(now, None, consumers)
    assert told.measured == pytest.approx(derived.auction(now, None, less)[0] / saved - 1)


def test_the_price_is_the_lowest_page_that_is_served(shared: Record) -> None:
    last = shared.reader.last_batch(shared.run)
    assert last is not None
    found = market.read_market(shared.reader, shared.run, last)
    assert found is not None
    pages = derived.pages_by_price(shared.db, last)
    own = {name: one.bid.n_pages * 4096 for name, one in found.market.consumers.items()}
    saved, price = derived.auction(pages, found.market.limit_bytes, own)
    assert price is not None
    assert found.market.price() == pytest.approx(price)
    assert sum(found.market.saved().values()) == pytest.approx(saved)


@pytest.mark.parametrize("batch", [3, 30, 51])
def test_a_queue_says_what_it_handed_on_or_what_waits_in_it(joins: Record, batch: int) -> None:
    context = joins.at(batch)
    entities = {entity.id: entity for entity in joins.reader.entities(joins.run, batch)}
    told = graph_values(joins.reader.values(context.run_id, batch), entities)
    queues = [id for id, entity in entities.items() if entity.kind == "queue"]
    assert queues
    for queue in queues:
        flow, size, most = (
            derived.values(joins.db, queue, name).get(batch)
            for name in ("flow_tuples", "size_tuples", "queue_peak_tuples")
        )
        own = told.get(queue)
        if flow is None and size is not None:
            assert own == {"size_tuples": pytest.approx(size)}, queue
        elif most is not None:
            assert isinstance(own, list)
            assert pytest.approx(flow) in own
            assert pytest.approx(most) in own
        elif flow is not None:
            assert own == pytest.approx(flow)
