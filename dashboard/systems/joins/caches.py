"""The caches of joins, in use and not: what each bids and holds, to be pinned and forbidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import PanelDrawing, knob_row
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.joins.caches_view import (
    CACHE,
    COURSES,
    FORBID_KNOB,
    PIN_KNOB,
    POOL,
    CacheBid,
    CachesView,
    build_caches,
)
from dashboard.views.book import Book
from dashboard.views.knobs import NAMES_SEPARATOR
from dashboard.views.saved import RECENT, SavedShare
from storage.reader import Reader

DRAWING: Final = "pw-caches-drawing"
NOTE: Final = "bids: benefit less upkeep for each KiB; candidates bid once they are used"


class CacheList(PanelDrawing):
    """The caches of joins with what they bid (caches.js). drawing: a list, as written below."""

    _type = "CacheList"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[CachesView] | None:
    """The caches of the unit's joins as of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    followed = [entity.id for entity in book.of(POOL, CACHE)]
    courses = _courses(reader, run, at, followed)
    return build_caches(book, reader.values(run, at), reader.knobs(run, at), courses) or None


def _courses(
    reader: Reader, run: str, at: int | None, entities: Sequence[str]
) -> dict[tuple[str, str], list[float]]:
    """What is followed of pools and caches, over the recent batches."""
    if at is None:
        return {}
    keys = [(entity, name) for entity in entities for name in COURSES]
    series = reader.many_series(run, keys, since_batch=at - RECENT + 1, until_batch=at)
    return {
        key: [point for point in series[key].value.tolist() if point == point] for key in series
    }


def draw(joins: list[CachesView], sheet: Sheet) -> Drawing:
    """All joins, each with its caches; the table twin: the caches of all."""
    return Drawing(
        table=_table(joins, sheet.context),
        note=NOTE,
        sets=(sheet.context.run_id, [_sent(join) for join in joins], sheet.locked),
    )


def _sent(join: CachesView) -> dict[str, Any]:
    sent = join._asdict()
    sent["bids"] = [bid._asdict() for bid in join.bids]
    sent["verdict"], saving = join.verdict, join.saving
    sent["saving"] = None if saving is None else {"n": saving.n, "words": _words(saving)}
    names = {"pin": PIN_KNOB, "forbid": FORBID_KNOB}
    sent["knobs"] = {
        role: knob_row(join.knobs[name]) for role, name in names.items() if name in join.knobs
    }
    sent["separator"] = NAMES_SEPARATOR
    return sent


def _words(saving: SavedShare) -> str:
    """'61.6 % saved, 95 % interval 50.2 % to 73.0 %, last 10 batches'."""
    share = f"{show(abs(saving.share), 'pct')} {'saved' if saving.share >= 0 else 'lost'}"
    return f"{share}{saving.interval}, {saving.stretch}"


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


def _table(joins: list[CachesView], context: Context) -> Component:
    rows = [_row(bid, join, context) for join in joins for bid in join.bids]
    return RowTable("Caches and candidates, as they are served", _COLUMNS, rows)


def _row(bid: CacheBid, join: CachesView, context: Context) -> list[CellData]:
    state = f"{bid.state}, {bid.choice}" if bid.choice else bid.state
    return [
        {"text": bid.short, "sub": f"by {bid.key}, costs in {join.cost}" if bid.key else ""},
        {"text": join.name, "jump": jump_to(context, "/plan", node=join.join)},
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
    name="caches",
    page="/memory",
    title="Caches of joins",
    sql=records.samples(POOL, "cache"),
    build=build,
    draw=draw,
    applies=has_role(POOL),
    values=True,
    news=("run", "plans", "decisions", "knobs"),
    beats=True,
    unit=True,
    controls=lambda context, services: [CacheList(DRAWING)],
    sets=CacheList.filled(DRAWING),
)
