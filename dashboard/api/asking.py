"""Handlers that compute: answers of SQL as JSON, CSV or Parquet; what a turn would do."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any, Final

from flask import Response

from dashboard.api.changing import find_knob
from dashboard.api.common import AT, find_run
from dashboard.api.params import Param
from dashboard.api.parquet import MEDIA, as_file, parquet_bytes, plain
from dashboard.api.registry import ApiCall
from dashboard.panels.common.market import read_market
from dashboard.panels.turns import previewed
from dashboard.serving.errors import ApiError
from dashboard.serving.knob_check import check_value
from dashboard.views.market import by_bid
from dashboard.views.unreplayed import VERDICT, why_not
from storage.reading.sql import SqlAnswer, SqlBusy, SqlRefused

LONGEST_SQL: Final = 8000
FORMATS: Final = ("json", "csv", "parquet")
SQL_PARAMS: Final = (
    Param("text", "string", "One SELECT.", required=True, longest=LONGEST_SQL),
    Param("run", "string", "Value of :run in it.", default=""),
    Param("at", "integer", "Value of :at in it, a batch.", low=-1),
    Param("format", "string", f"One of {', '.join(FORMATS)}.", default="json"),
)


@dataclass(frozen=True, slots=True)
class SqlRows:
    """An answer: rows by column. is_cut: there were more rows than are given."""

    columns: tuple[str, ...]
    rows: list[list[Any]]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """What the newest recorded evaluations would have become with another value of a knob.

    replayed: the record tells. words: the effect in words. share: of
    visits per tuple (-0.08 = 8 % fewer) with its 95 % interval, null = too few samples.
    """

    replayed: bool
    words: str
    tone: str = "quiet"
    share: float | None = None
    low: float | None = None
    high: float | None = None


PREVIEW_PARAMS: Final = (
    Param("knob", "string", "Name of the knob.", required=True),
    Param("value", "string", "The value, as JSON: 0.3 or a text.", required=True),
    Param("scope", "string", "Unit or input whose knob it is; default: the one of that name."),
)


def preview(call: ApiCall) -> Preview:
    """What a value would have done on the recorded stretch."""
    reader, run, asked = call.services.reader, find_run(call), call.query
    knob = find_knob(reader.knobs(run.id), asked["knob"], asked["scope"])
    value = check_value(knob, _json(asked["value"]))
    effect = previewed(reader, run.id, knob, value)
    if effect is None:
        return Preview(False, f"No preview. {why_not(knob.name)} After the turn: {VERDICT}.")
    if effect.share is None:
        return Preview(False, effect.words)
    return Preview(True, effect.words, effect.tone, *effect.share)


MARKET_PARAMS: Final = (
    Param("knob", "string", "Name of a knob that limits or prices bids.", required=True),
    Param("value", "number", "Bytes, or a price, as the knob takes them.", required=True, low=0),
    Param("scope", "string", "Unit whose knob it is; default: the run.", default=""),
    AT,
)


@dataclass(frozen=True, slots=True)
class MarketAnswer:
    """What the bids of a batch come to under another limit or price.

    granted: bytes by bid, a consumer and what it bids for. price: the lowest bid served, saving for
    each tuple and KiB, null = nobody is short. words: who gives way and who gains.
    """

    words: str
    granted: dict[str, int]
    price: float | None = None


def market(call: ApiCall) -> MarketAnswer:
    """The recorded bids, divided again."""
    run, asked = find_run(call), call.query
    record = read_market(call.services.reader, run.id, asked["at"])
    if record is None:
        return MarketAnswer("Nobody bids for memory here.", {})
    tried = record.tried(asked["knob"], asked["scope"], asked["value"])
    if tried is None:
        return MarketAnswer(
            "The knob neither limits nor prices a bid.", by_bid(record.market), record.view.price
        )
    return MarketAnswer(tried.words, dict(tried.granted), tried.price)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def run_sql(call: ApiCall) -> SqlRows | Response:
    """The answer of a SELECT on the store."""
    query = call.query
    if query["format"] not in FORMATS:
        message = f"format = {query['format'][:20]} refused: allowed {', '.join(FORMATS)}."
        raise ApiError(422, "bad_parameter", message, parameter="format", allowed=FORMATS)
    try:
        answer = call.services.reader.ask(query["text"], {"run": query["run"], "at": query["at"]})
    except SqlBusy as error:
        raise ApiError(503, "busy", f"The query is not answered now: {error}.") from None
    except SqlRefused as error:
        raise ApiError(422, "bad_sql", f"The query is refused: {error}.") from None
    if query["format"] == "json":
        return SqlRows(
            answer.columns, [[plain(v) for v in row] for row in answer.rows], answer.is_cut
        )
    return _CONTENTS[query["format"]](answer)


def _csv(answer: SqlAnswer) -> Response:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(answer.columns)
    writer.writerows([plain(value) for value in row] for row in answer.rows)
    return as_file(text.getvalue(), "text/csv", "csv")


def _parquet(answer: SqlAnswer) -> Response:
    return as_file(parquet_bytes(answer.columns, answer.rows), MEDIA, "parquet")


_CONTENTS: Final = {"csv": _csv, "parquet": _parquet}
