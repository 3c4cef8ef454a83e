"""The market: the pool of each join with an edge to drag, and the caches that bid for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.components.badges import badge
from dashboard.components.drawn import knob_row
from dashboard.components.market import CacheMarket
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.context import Context
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.services import Services
from dashboard.views.book import Book
from dashboard.views.join_matrices import BIDS
from dashboard.views.market import (
    EFFECT_BATCHES,
    FORBID_KNOB,
    MEASURED,
    PIN_KNOB,
    POOL,
    POOL_KNOB,
    RUN_KNOB,
    SEPARATOR,
    CacheBid,
    MarketView,
    build_markets,
)
from storage.reader import Reader
from storage.rows import SeriesData
from storage.vocabulary.records import Knob

DRAWING: Final = "pw-market-drawing"
NOTE: Final = "bids: benefit less upkeep for each KB; the highest is served first"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[MarketView] | None:
    """The markets of the unit as of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    pools = book.of(POOL)
    if not pools:
        return None
    turns = {unit: _turns(reader, run, unit, at) for unit in {pool.unit_id for pool in pools}}
    measured = _measured(
        reader, run, at, {str(p.properties["join"]): p.unit_id for p in pools}, turns
    )
    values, knobs = reader.values(run, at), reader.knobs(run, at)
    tiers = _tiers(reader, run, at, scope)
    return build_markets(book, values, knobs, turns, measured, tiers)


def _tiers(reader: Reader, run: str, at: int | None, scope: PanelScope) -> dict[str, Any]:
    """Cache -> what it wants of its pool, tier by tier."""
    names = [key.name for key in reader.matrix_keys(run, scope.only) if key.kind == BIDS]
    stored = [reader.matrix(run, name, at, scope.only) for name in names]
    return {
        cache: wants
        for one in stored
        if one is not None
        for cache, wants in zip(
            one.matrix.rows, one.matrix.row_stats.get("tiers", ()), strict=False
        )
    }


def _turns(reader: Reader, run: str, unit: str, at: int | None) -> list[Knob]:
    found = reader.knob_history(run, POOL_KNOB, unit)
    return [knob for knob in found if at is None or knob.batch <= at]


def _measured(
    reader: Reader,
    run: str,
    at: int | None,
    units: Mapping[str, str],
    turns: Mapping[str, Sequence[Knob]],
) -> dict[str, SeriesData]:
    """Join -> what its work took around the last turn of its pool. units: join -> its unit."""
    found: dict[str, SeriesData] = {}
    for join, unit in units.items():
        if len(turns[unit]) < 2:
            continue
        batch = turns[unit][-1].batch
        last = batch + EFFECT_BATCHES if at is None else min(at, batch + EFFECT_BATCHES)
        series = reader.series(
            run, join, MEASURED, since_batch=max(0, batch - EFFECT_BATCHES), until_batch=last
        )
        if series is not None:
            found[join] = series
    return found


def draw(markets: list[MarketView], sheet: Sheet) -> Drawing:
    """All markets, each with its bids; the table twin: the bids of all."""
    sent = [_sent(one, sheet.context) for one in markets]
    return Drawing(
        table=_table(markets, sheet.context),
        note=[badge("estimated"), f" {NOTE}"],
        sets=(sheet.context.run_id, sent, sheet.locked),
    )


def _sent(market: MarketView, context: Context) -> dict[str, Any]:
    told = market._asdict()
    told["bids"] = [one._asdict() for one in market.bids]
    told["limitless"] = market.is_of_run
    told["effect"] = None if market.effect is None else market.effect._asdict()
    pool = RUN_KNOB if market.is_of_run else POOL_KNOB
    names = {"pool": pool, "pin": PIN_KNOB, "forbid": FORBID_KNOB}
    told["knobs"] = {
        role: knob_row(market.knobs[name]) for role, name in names.items() if name in market.knobs
    }
    told["separator"] = SEPARATOR
    return told


_COLUMNS: Final = (
    TableColumn("Cache"),
    TableColumn("Query"),
    TableColumn("Looked up"),
    TableColumn("State"),
    TableColumn(
        "Bid", "f3", "a tuple and KB", "benefit less upkeep for each KB it is expected to take"
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
    rows = [_row(one, market, context) for market in joins for one in market.bids]
    return RowTable("Caches and candidates, as they are served", _COLUMNS, rows)


def _row(one: CacheBid, market: MarketView, context: Context) -> list[CellData]:
    state = f"{one.state}, {one.choice}" if one.choice else one.state
    return [
        {"text": one.short, "sub": f"by {one.key}, costs in {market.cost}" if one.key else ""},
        {"text": market.name, "jump": jump_to(context, "/plan", node=market.join)},
        "; ".join(one.places),
        state,
        one.bid,
        one.benefit,
        one.upkeep,
        one.hit,
        one.miss,
        one.entries,
        one.used,
        one.granted,
        one.wanted,
    ]


def _controls(context: Context, services: Services) -> list[Component]:
    return [CacheMarket(DRAWING)]


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
    controls=_controls,
    sets=((DRAWING, "run"), (DRAWING, "markets"), (DRAWING, "disabled")),
)
