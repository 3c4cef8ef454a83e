"""The market: the pool of each join with an edge to drag, and the caches that bid for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import PanelDrawing, knob_row
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.turns import effects
from dashboard.systems.joins.market_view import (
    CACHE,
    COURSES,
    FORBID_KNOB,
    PIN_KNOB,
    POOL,
    POOL_KNOB,
    RUN_KNOB,
    SMOOTHED,
    CacheBid,
    MarketView,
    TurnEffect,
    build_markets,
)
from dashboard.systems.joins.matrices_view import BIDS
from dashboard.views.book import Book
from dashboard.views.knobs import NAMES_SEPARATOR
from storage.reader import Reader

DRAWING: Final = "pw-market-drawing"
NOTE: Final = "bids: benefit less upkeep for each KiB; the highest is served first"


class CacheMarket(PanelDrawing):
    """Pools of memory with an edge to drag, their bids, and what a turn would do (market.js).

    drawing: a list, as written below.
    """

    _type = "CacheMarket"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[MarketView] | None:
    """The markets of the unit as of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    pools = book.of(POOL)
    if not pools:
        return None
    turned = {unit: _effect(reader, run, unit, at) for unit in {pool.unit_id for pool in pools}}
    effects = {unit: effect for unit, effect in turned.items() if effect is not None}
    courses = _courses(reader, run, at, [entity.id for entity in (*pools, *book.of(CACHE))])
    values, knobs = reader.values(run, at), reader.knobs(run, at)
    tiers = _tiers(reader, run, at, scope)
    return build_markets(book, values, knobs, effects, courses, tiers)


def _tiers(reader: Reader, run: str, at: int | None, scope: PanelScope) -> dict[str, Any]:
    """Cache -> what it wants of its pool, tier by tier."""
    names = [key.name for key in reader.matrix_keys(run, scope.only) if key.kind == BIDS]
    stored = [reader.matrix(run, name, at, scope.only) for name in names]
    return {
        cache: wants
        for bids in stored
        if bids is not None
        for cache, wants in zip(
            bids.matrix.rows, bids.matrix.row_stats.get("tiers", ()), strict=False
        )
    }


def _effect(reader: Reader, run: str, unit: str, at: int | None) -> TurnEffect | None:
    """The last turn of the pool of the unit's joins, judged as in the audit log."""
    turns = [
        command
        for command in reader.commands(run)
        if at is None or (command.applied_batch or 0) <= at
    ]
    judged = effects(reader, run, turns, at)
    for turn in turns:
        of_pool = turn.payload.get("knob") == POOL_KNOB and turn.payload.get("scope", unit) == unit
        if of_pool and turn.id in judged:
            old, new = float(turn.old_value), float(turn.payload["value"])
            return TurnEffect(turn.applied_batch or 0, old, new, judged[turn.id][0].words)
    return None


def _courses(
    reader: Reader, run: str, at: int | None, entities: Sequence[str]
) -> dict[tuple[str, str], list[float]]:
    """What is followed of pools and caches, over the batches that are smoothed."""
    if at is None:
        return {}
    keys = [(entity, name) for entity in entities for name in COURSES]
    series = reader.many_series(run, keys, since_batch=at - SMOOTHED + 1, until_batch=at)
    return {
        key: [point for point in series[key].value.tolist() if point == point] for key in series
    }


def draw(markets: list[MarketView], sheet: Sheet) -> Drawing:
    """All markets, each with its bids; the table twin: the bids of all."""
    sent = [_sent(market, sheet.context) for market in markets]
    return Drawing(
        table=_table(markets, sheet.context),
        note=NOTE,
        sets=(sheet.context.run_id, sent, sheet.locked),
    )


def _sent(market: MarketView, context: Context) -> dict[str, Any]:
    sent = market._asdict()
    sent["bids"] = [bid._asdict() for bid in market.bids]
    sent["limitless"] = market.is_of_run
    sent["effect"] = None if market.effect is None else market.effect._asdict()
    sent["saving"] = None if market.saving is None else market.saving._asdict()
    pool = RUN_KNOB if market.is_of_run else POOL_KNOB
    names = {"pool": pool, "pin": PIN_KNOB, "forbid": FORBID_KNOB}
    sent["knobs"] = {
        role: knob_row(market.knobs[name]) for role, name in names.items() if name in market.knobs
    }
    sent["separator"] = NAMES_SEPARATOR
    return sent


_COLUMNS: Final = (
    TableColumn("Cache"),
    TableColumn("Query"),
    TableColumn("Looked up"),
    TableColumn("State"),
    TableColumn(
        "Bid", "f3", "a tuple and KiB", "benefit less upkeep for each KiB it is expected to take"
    ),
    TableColumn("Benefit", "f3", "a tuple"),
    TableColumn("Upkeep", "f3", "a tuple"),
    TableColumn("Hits", "pct", "", "look-ups of the batch that found their key"),
    TableColumn("Misses", "pct", "", "expected share of look-ups that do not find their key"),
    TableColumn("Entries", "int"),
    TableColumn("In use", "int", "bytes"),
    TableColumn("Granted", "int", "bytes"),
    TableColumn("Wanted", "int", "bytes"),
)


def _table(markets: list[MarketView], context: Context) -> Component:
    joins = [market for market in markets if not market.is_of_run]
    rows = [_row(bid, market, context) for market in joins for bid in market.bids]
    return RowTable("Caches and candidates, as they are served", _COLUMNS, rows)


def _row(bid: CacheBid, market: MarketView, context: Context) -> list[CellData]:
    state = f"{bid.state}, {bid.choice}" if bid.choice else bid.state
    return [
        {"text": bid.short, "sub": f"by {bid.key}, costs in {market.cost}" if bid.key else ""},
        {"text": market.name, "jump": jump_to(context, "/plan", node=market.join)},
        "; ".join(bid.places),
        state,
        bid.bid,
        bid.benefit,
        bid.upkeep,
        bid.hit,
        bid.miss,
        bid.entries,
        bid.used,
        bid.granted,
        bid.wanted,
    ]


PANEL: Final = Panel(
    name="market",
    page="/memory",
    title="The market",
    sql=records.samples(POOL, "cache"),
    build=build,
    draw=draw,
    applies=has_role(POOL),
    values=True,
    news=("run", "plans", "decisions", "knobs"),
    beats=True,
    unit=True,
    controls=lambda context, services: [CacheMarket(DRAWING)],
    sets=CacheMarket.filled(DRAWING),
)
