"""The market: the pool of each join with an edge to drag, and the caches that bid for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import NAMESPACE, Drawn, knob_row
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.turns import effects
from dashboard.serving.services import Services
from dashboard.systems.joins.market_view import (
    CACHE,
    COURSES,
    FORBID_KNOB,
    PIN_KNOB,
    POOL,
    POOL_KNOB,
    RUN_KNOB,
    SEPARATOR,
    SMOOTHED,
    CacheBid,
    MarketView,
    TurnEffect,
    build_markets,
)
from dashboard.systems.joins.matrices_view import BIDS
from dashboard.views.book import Book
from storage.reader import Reader

DRAWING: Final = "pw-market-drawing"
NOTE: Final = "bids: benefit less upkeep for each KiB; the highest is served first"


class CacheMarket(Drawn):
    """Pools of memory with an edge to drag, the bids for them, and what a turn would do.

    run: id of the run. markets: as written below. disabled: why knobs
    cannot be turned now, or ''.
    """

    _namespace = NAMESPACE
    _type = "CacheMarket"
    _names = ("id", "run", "markets", "disabled")

    def __init__(self, id: str) -> None:
        super().__init__(id=id, run="", markets=[], disabled="")


def build(reader: Reader, context: Context, scope: PanelScope) -> list[MarketView] | None:
    """The markets of the unit as of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    pools = book.of(POOL)
    if not pools:
        return None
    turned = {unit: _effect(reader, run, unit, at) for unit in {pool.unit_id for pool in pools}}
    told = {unit: one for unit, one in turned.items() if one is not None}
    courses = _courses(reader, run, at, [one.id for one in (*pools, *book.of(CACHE))])
    values, knobs = reader.values(run, at), reader.knobs(run, at)
    tiers = _tiers(reader, run, at, scope)
    return build_markets(book, values, knobs, told, courses, tiers)


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


def _effect(reader: Reader, run: str, unit: str, at: int | None) -> TurnEffect | None:
    """The last turn of the pool of the unit's joins, judged as in the audit log."""
    turns = [one for one in reader.commands(run) if at is None or (one.applied_batch or 0) <= at]
    judged = effects(reader, run, turns, at)
    for one in turns:
        of_pool = one.payload.get("knob") == POOL_KNOB and one.payload.get("scope", unit) == unit
        if of_pool and one.id in judged:
            old, new = float(one.old_value), float(one.payload["value"])
            return TurnEffect(one.applied_batch or 0, old, new, judged[one.id][0].words)
    return None


def _courses(
    reader: Reader, run: str, at: int | None, entities: Sequence[str]
) -> dict[tuple[str, str], list[float]]:
    """What is followed of pools and caches, over the batches that are smoothed."""
    if at is None:
        return {}
    keys = [(entity, name) for entity in entities for name in COURSES]
    found = reader.many_series(run, keys, since_batch=at - SMOOTHED + 1, until_batch=at)
    return {key: [one for one in found[key].value.tolist() if one == one] for key in found}


def draw(markets: list[MarketView], sheet: Sheet) -> Drawing:
    """All markets, each with its bids; the table twin: the bids of all."""
    sent = [_sent(one, sheet.context) for one in markets]
    return Drawing(
        table=_table(markets, sheet.context),
        note=NOTE,
        sets=(sheet.context.run_id, sent, sheet.locked),
    )


def _sent(market: MarketView, context: Context) -> dict[str, Any]:
    told = market._asdict()
    told["bids"] = [one._asdict() for one in market.bids]
    told["limitless"] = market.is_of_run
    told["effect"] = None if market.effect is None else market.effect._asdict()
    told["saving"] = None if market.saving is None else market.saving._asdict()
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
