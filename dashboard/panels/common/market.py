"""The market for the memory of a run: pools with an edge to drag, bids, and what does not bid."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import PanelDrawing, knob_row
from dashboard.components.formats import show
from dashboard.components.kinds import node_kind
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.panels.turns import effects
from dashboard.views.book import Book
from dashboard.views.forecasts import Forecast
from dashboard.views.market import (
    RUN_POOL,
    MarketView,
    MemoryBid,
    MemoryPool,
    NoBid,
    TriedLimit,
    build_market,
    came_to,
    repriced,
    tried,
)
from storage.reader import Reader
from storage.vocabulary.market import BIDS, Market, consumers_in
from storage.vocabulary.records import Command

DRAWING: Final = "pw-market-drawing"
NOTE: Final = "who saves most by a KiB has it first; drag an edge to see who would give way"
#: The quantity of forecasts of limits.
SAVING: Final = "the saving of bids"
#: Bids that are drawn; the table has all.
MOST_DRAWN: Final = 40


class MemoryMarket(PanelDrawing):
    """Pools of memory with an edge to drag, their bids, and what a turn would do (page_market.js).

    drawing: as written below.
    """

    _type = "MemoryMarket"


class PoolTurn(NamedTuple):
    """The last turn of a limit. forecast: what the bids were to save more, as a share, as recorded
    with the request; measured: by those of the moment."""

    words: str
    forecast: float | None = None
    measured: float | None = None


class MarketRecord(NamedTuple):
    """What is on record of a batch. turned: the last turns of pools, by id."""

    market: Market
    view: MarketView
    turned: dict[str, PoolTurn]

    def tried(self, knob: str, scope: str, value: float) -> TriedLimit | None:
        """What the bids come to under another value of a knob; None where it neither limits nor
        prices any."""
        names = {bid.id: bid.name for bid in self.view.bids}
        for pool in self.view.pools:
            if (pool.knob.name, pool.knob.scope) == (knob, scope):
                return tried(self.market, names, pool, int(value))
        for price in self.view.prices:
            if (price.knob.name, price.knob.scope) == (knob, scope):
                return repriced(self.market, names, price, value)
        return None


def read_market(reader: Reader, run: str, at: int | None) -> MarketRecord | None:
    """As of a batch; None: nobody bids, and nothing could."""
    book = Book(reader.entities(run, at))
    values, pool = reader.values(run, at), book.first(RUN_POOL)
    stored = reader.matrix(run, BIDS, at, "") if pool else None
    limit = values.get(pool, {}).get("pool_bytes")
    consumers = {} if stored is None else consumers_in(stored.matrix)
    market = Market(None if limit is None else int(limit), consumers)
    matrix = None if stored is None else stored.matrix
    view = build_market(book, values, reader.knobs(run, at), market, matrix)
    return None if view is None else MarketRecord(market, view, {})


def build(reader: Reader, context: Context, scope: PanelScope) -> MarketRecord | None:
    """The market as of the moment."""
    run, at = context.run_id, context.batch
    record = read_market(reader, run, at)
    return record and record._replace(turned=_turned(reader, run, record, at))


def _turned(reader: Reader, run: str, record: MarketRecord, at: int | None) -> dict[str, PoolTurn]:
    """The last turns of their knobs, judged as in the audit log."""
    turns = [c for c in reader.commands(run) if at is None or (c.applied_batch or 0) <= at]
    judged, by_pool = effects(reader, run, turns, at), dict[str, PoolTurn]()
    for turn in turns:
        for pool in record.view.pools if turn.id in judged else ():
            scope = turn.payload.get("scope", pool.knob.scope)
            is_its = (turn.payload.get("knob"), scope) == (pool.knob.name, pool.knob.scope)
            if is_its and pool.id not in by_pool:
                near = judged[turn.id].near.words
                by_pool[pool.id] = _pool_turn(record.market, pool, turn, near)
    return by_pool


def _pool_turn(market: Market, pool: MemoryPool, turn: Command, near: str) -> PoolTurn:
    """near: what it did to the cost, in words."""
    old, new = (_size(pool, n) for n in (turn.old_value, turn.payload["value"]))
    words = f"The turn at batch {turn.applied_batch}, {old} → {new}: {near}"
    expected = Forecast.recorded(turn.payload)
    share = None if expected is None or expected.quantity != SAVING else expected.share
    if expected is not None and share is None:
        words += f"; the forecast was: {expected.words}"
    measured = came_to(market, pool, int(turn.old_value))
    return PoolTurn(words, share and share.mean, measured)


def _size(pool: MemoryPool, value: Any) -> str:
    return "no limit" if pool.endless and not value else show(float(value), "bytes")


def draw(record: MarketRecord, sheet: Sheet) -> Drawing:
    """Pools, bids and what does not bid; the table twin: all of them."""
    context = sheet.context
    return Drawing(
        table=_table(record.view, context),
        note=NOTE,
        sets=(context.run_id, _sent(record, context), sheet.locked),
    )


def _sent(record: MarketRecord, context: Context) -> dict[str, Any]:
    view, pools = record.view, []
    for pool in view.pools:
        turned = record.turned.get(pool.id)
        words = {"knob": knob_row(pool.knob), "turned": turned and turned._asdict()}
        pools.append({**pool._asdict(), **words})
    return {
        "at": context.batch,
        "price": view.price,
        "units": view.units,
        "pools": pools,
        "prices": [
            {
                **price._asdict(),
                "knob": knob_row(price.knob),
                "ties": [tie._asdict() for tie in price.ties[:MOST_DRAWN]],
            }
            for price in view.prices
        ],
        "bids": [_shown(bid, context) for bid in view.bids[:MOST_DRAWN]],
        "n_bids": len(view.bids),
        "asked": sum(bid.asked for bid in view.bids),
        "granted": sum(bid.granted for bid in view.bids),
        "used": sum(bid.used or 0 for bid in view.bids),
        "others": [_shown(other, context) for other in view.others[:MOST_DRAWN]],
    }


def _shown(bid: MemoryBid | NoBid, context: Context) -> dict[str, Any]:
    kind = _kind(bid) if isinstance(bid, NoBid) else _word(bid.role)
    words = {"role": kind, "jump": jump_to(context, "/plan", node=bid.entity)}
    return {**bid._asdict(), **words}


def _kind(other: NoBid) -> str:
    """'synopsis of [Range 1 hour]'."""
    return f"{_word(other.role)}{f' of {other.of}' if other.of else ''}"


def _word(role: str) -> str:
    return node_kind(role).word


_COLUMNS: Final = (
    TableColumn("For"),
    TableColumn("Kind"),
    TableColumn("Bidder"),
    TableColumn("Saves", "f3", "a tuple and KiB", "mean of what it asks for"),
    TableColumn("In"),
    TableColumn("Asks for", "int", "bytes"),
    TableColumn("Granted", "int", "bytes", "from the next batch on"),
    TableColumn("In use", "int", "bytes"),
    TableColumn("Holds", "int", "tuples"),
)


def _table(view: MarketView, context: Context) -> Component:
    rows = [_row(bid, context) for bid in view.bids]
    rows += [_no_bid(other, context) for other in view.others]
    return RowTable("Bids, and what does not bid", _COLUMNS, rows)


def _row(bid: MemoryBid, context: Context) -> list[CellData]:
    return [
        {"text": bid.name, "jump": jump_to(context, "/plan", node=bid.entity)},
        _word(bid.role),
        bid.holder_name,
        "before all bids" if bid.gain is None else bid.gain,
        bid.unit,
        bid.asked,
        bid.granted,
        bid.used,
        bid.tuples,
    ]


def _no_bid(other: NoBid, context: Context) -> list[CellData]:
    size = {other.unit: other.size}
    return [
        {"text": other.name, "jump": jump_to(context, "/plan", node=other.entity)},
        _kind(other),
        "no bid",
        None,
        "",
        None,
        None,
        size.get("bytes"),
        size.get("tuples"),
    ]


PANEL: Final = Panel(
    name="market",
    page="/memory",
    title="The market",
    sql=records.matrices(BIDS),
    build=build,
    draw=draw,
    values=True,
    news=("run", "plans", "decisions", "knobs", "matrices"),
    beats=True,
    controls=lambda context, services: [MemoryMarket(DRAWING)],
    sets=MemoryMarket.filled(DRAWING),
)
