"""Every route of the API. Nothing is served, documented or tested beside this list."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from dashboard.api import asking, changing, if_not, noting, parquet, reading, searching, service
from dashboard.api.changing import (
    NAME,
    REASON,
    STEP_OF,
    BranchRequest,
    KnobRequest,
    QueryRequest,
    TapRequest,
)
from dashboard.api.common import AT, SINCE, UNIT, UNTIL, limit
from dashboard.api.metrics import MEDIA
from dashboard.api.openapi import build_document
from dashboard.api.params import Param
from dashboard.api.registry import ApiCall, Handler, Method, Route
from dashboard.base.prefix import below
from dashboard.panels.if_not import IfNotAnswer
from dashboard.serving.compression import EVENTS
from dashboard.serving.security import LONGEST_NAME
from dashboard.views.alerts import AlertState
from dashboard.views.glossary import GlossaryWord
from dashboard.views.planlog import PlanLogEntry
from storage.tables.rows import StoredMisfit, StoredResult
from storage.vocabulary.records import Command, Entity, Knob, PlanVersion, Unit

API_VERSION: Final = "1.0"
_RUN: Final = "/api/v1/runs/{run_id}"
_LIVE_RUN = Param("run", "string", "Run id.", required=True)
_LIVE_NAME = Param(
    "name", "string", "What others are told who looks.", default="", longest=LONGEST_NAME
)
_LIVE_SINCE = Param("since", "integer", "The cursor 'c' of the last delta seen.", low=0)
_SAMPLES = (
    Param(
        "entity", "string", "Entity id, such as system or asc.S/selection:origin.", required=True
    ),
    Param("property", "string", "Property, such as visits_per_tuple.", required=True),
    SINCE,
    UNTIL,
    Param("since_time", "number", "Only from this time on (Unix s)."),
    Param("until_time", "number", "Only up to this time (Unix s)."),
    Param("limit", "integer", "At most this many points.", default=2000, low=2, high=20000),
)
_ENTITIES = (
    AT,
    Param("after", "string", "Only those behind this id: the last one of the page before."),
    Param("limit", "integer", "At most this many.", default=10000, low=1, high=10000),
)
_DECISIONS = (
    UNTIL,
    Param("verdict", "string", "Only this verdict, such as switched."),
    Param("before", "integer", "Only those numbered lower than this, to page back.", low=1),
    UNIT,
    limit(100, 1000),
)
_EVENTS = (SINCE, UNTIL, Param("kind", "string", "Only this kind."), UNIT, limit(500, 5000))
_RESULTS = (Param("query", "string", "Only tuples of this query."), UNTIL, limit(20, 500))
_TAPS = (
    Param("entity", "string", "A queue (an edge of the plan) or an operator.", required=True),
    AT,
)


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of the list below."""
    return build_document(ROUTES, API_VERSION)


def _openapi(call: ApiCall) -> dict[str, Any]:
    return {**document(), "servers": [{"url": below("/")}]}


_SERVICE = (
    Route(
        "GET",
        "/healthz",
        service.healthz,
        "Whether the store can be read",
        service.Health,
        errors=(503,),
        tag="service",
        open=True,
    ),
    Route("GET", "/metrics", service.prometheus, "Prometheus metrics", media=MEDIA, tag="service"),
    Route("GET", "/api/v1/openapi.json", _openapi, "This document", dict[str, Any], tag="service"),
    Route("GET", "/api/v1/csrf", service.csrf, "A CSRF token", service.CsrfToken, tag="service"),
    Route(
        "GET",
        "/live",
        service.live,
        "Server-sent events: 'delta', what changes in a run; 'present', who else looks at it",
        params=(_LIVE_RUN, _LIVE_SINCE, _LIVE_NAME),
        media=EVENTS,
        errors=(404, 503),
        tag="live",
    ),
    Route(
        "GET",
        "/live/poll",
        service.live_poll,
        "The same deltas for those who poll, merged into one",
        list[service.DeltaAnswer],
        (_LIVE_RUN, _LIVE_SINCE),
        errors=(404,),
        tag="live",
    ),
)
_READING = (
    Route(
        "GET",
        "/api/v1/runs",
        reading.runs,
        "All runs, newest first",
        list[reading.RunAnswer],  # type: ignore[valid-type]  # made by flat_type
    ),
    Route("GET", _RUN, reading.run, "One run", reading.RunAnswer),
    Route(
        "GET",
        f"{_RUN}/inputs",
        reading.inputs,
        "Streams the run reads, and their state",
        list[reading.InputAnswer],  # type: ignore[valid-type]  # made by flat_type
    ),
    Route("GET", f"{_RUN}/units", reading.units, "Units", list[Unit], params=(AT,)),
    Route("GET", f"{_RUN}/entities", reading.entities, "Entities", list[Entity], _ENTITIES),
    Route("GET", f"{_RUN}/queries", reading.queries, "Registered queries", list[Entity], _ENTITIES),
    Route(
        "GET",
        f"{_RUN}/plans",
        reading.plans,
        "Plan versions, newest last; order: attribute names",
        list[PlanVersion],
        (UNTIL, UNIT, limit(1000, 10000)),
    ),
    Route(
        "GET",
        f"{_RUN}/decisions",
        reading.decisions,
        "Stored decisions, newest last",
        list[reading.DecisionAnswer],  # type: ignore[valid-type]  # made by flat_type
        _DECISIONS,
    ),
    Route(
        "GET",
        f"{_RUN}/decisions/{{seq}}",
        reading.decision,
        "One decision",
        reading.DecisionAnswer,
        (UNIT,),
    ),
    Route(
        "GET",
        f"{_RUN}/planlog",
        reading.plan_log_entries,
        "The plan log: statistics, plan, predicted and measured cost of each look",
        list[PlanLogEntry],
        (UNTIL, UNIT, limit(1000, 10000)),
    ),
    Route("GET", f"{_RUN}/knobs", reading.knobs, "Knobs", list[Knob], params=(AT,)),
    Route(
        "GET",
        f"{_RUN}/places",
        searching.places,
        "What can be gone to in the run",
        list[searching.SearchPlace],
    ),
    Route(
        "GET",
        f"{_RUN}/glossary",
        searching.glossary,
        "Words of the glossary that concern the run",
        list[GlossaryWord],
    ),
    Route(
        "GET",
        f"{_RUN}/commands",
        reading.commands,
        "Commands with their answers, newest last",
        list[Command],
        (limit(100, 1000),),
    ),
    Route(
        "GET",
        f"{_RUN}/commands/{{number}}",
        reading.command,
        "One command: requested, applied at a batch, or refused and why",
        Command,
    ),
    Route(
        "GET",
        f"{_RUN}/samples",
        reading.samples,
        "One property over time",
        reading.SeriesAnswer,
        _SAMPLES,
    ),
    Route("GET", f"{_RUN}/matrices", reading.matrices, "Names of the matrices", list[str], (UNIT,)),
    Route(
        "GET",
        f"{_RUN}/matrices/{{name}}",
        reading.matrix,
        "A matrix as of a batch",
        reading.MatrixAnswer,
        (AT, UNIT),
    ),
    Route(
        "GET",
        f"{_RUN}/results",
        reading.results,
        "Recently matched tuples, newest last",
        list[StoredResult],
        _RESULTS,
    ),
    Route(
        "GET",
        f"{_RUN}/taps",
        reading.taps,
        "Samples of what went through an edge or an operator, and those behind it",
        reading.TapsAnswer,
        _TAPS,
    ),
    Route(
        "GET",
        f"{_RUN}/misfits",
        reading.misfits,
        "Tuples kept aside, newest last",
        list[StoredMisfit],
        (UNTIL, limit(50, 500)),
    ),
    Route(
        "GET",
        f"{_RUN}/events",
        reading.events,
        "Events, newest last",
        list[reading.EventAnswer],  # type: ignore[valid-type]  # made by flat_type
        _EVENTS,
    ),
    Route(
        "GET",
        f"{_RUN}/batches",
        reading.batches,
        "Executed batches, newest last",
        list[reading.BatchAnswer],  # type: ignore[valid-type]  # made by flat_type
        (SINCE, UNTIL, limit(1000, 10000)),
    ),
)


def _change(
    method: Method,
    path: str,
    handler: Handler,
    summary: str,
    params: tuple[Param, ...] = (),
    body: type | None = None,
) -> Route:
    """A route that requests a change: 202 with the command."""
    return Route(
        method,
        _RUN + path,
        handler,
        summary,
        Command,
        params,
        body,
        status=202,
        change=True,
        tag="changing",
    )


_NOTES = f"{_RUN}/notes"
_NOTING = (
    Route(
        "GET",
        f"{_RUN}/if-not",
        if_not.if_not,
        "What if a decision had not changed the plan",
        IfNotAnswer,
        if_not.IF_NOT_PARAMS,
        errors=(422,),
    ),
    Route(
        "GET",
        f"{_RUN}/preview",
        asking.preview,
        "What the newest evaluations would have decided with another value of a knob",
        asking.Preview,
        asking.PREVIEW_PARAMS,
        errors=(422,),
    ),
    Route(
        "GET",
        f"{_RUN}/market",
        asking.market,
        "What the bids for memory of a batch come to under another limit or price",
        asking.MarketAnswer,
        asking.MARKET_PARAMS,
        errors=(422,),
    ),
    Route(
        "GET",
        _NOTES,
        noting.notes,
        "What people wrote down, newest last",
        list[Command],
        (noting.KIND,),
        errors=(422,),
    ),
    Route(
        "POST",
        _NOTES,
        noting.write_note,
        "Write down a note, a set of knob values, an alert rule, a query or a set of graphs",
        Command,
        body=noting.NoteRequest,
        status=201,
        change=True,
        tag="changing",
    ),
    Route(
        "DELETE",
        f"{_NOTES}/{{number}}",
        noting.forget_note,
        "Withdraw it; the audit log keeps it",
        Command,
        status=201,
        change=True,
        tag="changing",
    ),
    Route(
        "GET",
        f"{_RUN}/report.html",
        noting.report,
        "The post-mortem as one HTML file that opens anywhere",
        media="text/html",
    ),
    Route(
        "GET",
        f"{_RUN}/export",
        noting.export,
        "The records of the run as a separate store, compressed",
        media=noting.PACKED_MEDIA,
    ),
    Route(
        "GET",
        f"{_RUN}/alerts",
        noting.alerts,
        "Alert rules, and which of them are active",
        list[AlertState],
        (AT,),
    ),
    Route(
        "GET",
        "/api/v1/sql",
        asking.run_sql,
        "The answer of one SELECT on the store, as JSON, CSV or Parquet",
        asking.SqlRows,
        asking.SQL_PARAMS,
        errors=(422,),
    ),
    Route(
        "POST",
        "/api/v1/parquet",
        parquet.write_shown,
        "A table as a Parquet file; changes nothing",
        body=parquet.ParquetRequest,
        errors=(413,),
        media=parquet.MEDIA,
    ),
)
_QUERY = "/queries/{name}"
_CHANGING = (
    _change("POST", "/commands", changing.turn_knob, "Request a knob value", body=KnobRequest),
    _change("POST", "/commands/{number}/keep", changing.keep_turn, "Keep a provisional change"),
    _change("POST", "/taps", changing.ask_taps, "Look at what passes an edge", body=TapRequest),
    _change("POST", "/branches", changing.begin_branch, "Branch the run", body=BranchRequest),
    _change("POST", "/queries", changing.add_query, "Register a query", body=QueryRequest),
    _change("DELETE", "/queries", changing.remove_named_query, "Remove a query", (NAME, REASON)),
    _change("DELETE", _QUERY, changing.remove_query, "Remove a query", (REASON,)),
    _change("POST", f"{_QUERY}/pause", changing.pause_query, "Pause a query", (REASON,)),
    _change("POST", f"{_QUERY}/resume", changing.resume_query, "Resume a query", (REASON,)),
)
_PACING = (
    _change("POST", "/hold", changing.hold, "Pause the run: no further batch", (REASON,)),
    _change("POST", "/go-on", changing.go_on, "Resume a paused run", (REASON,)),
    _change("POST", "/step", changing.step, "One step of a paused run", (STEP_OF, REASON)),
)
ROUTES: Final[tuple[Route, ...]] = (*_SERVICE, *_READING, *_NOTING, *_CHANGING, *_PACING)
