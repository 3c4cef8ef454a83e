"""Handlers about the dashboard itself: health, metrics, CSRF token, live updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Response, g, request

from dashboard.api import metrics
from dashboard.api.registry import ApiCall, Reply
from dashboard.serving.compression import EVENTS
from dashboard.serving.deltas import Delta
from dashboard.serving.errors import ApiError, missing
from dashboard.serving.live import RETRY_AFTER_S, STREAMS_OF_BROWSER, HubFull, UnknownRunError
from dashboard.serving.security import CSRF_HEADER, Guard
from storage.errors import StoreError


@dataclass(frozen=True, slots=True)
class Health:
    """status: 'ok', or 'unavailable' when the store cannot be read."""

    status: str
    streams: int


@dataclass(frozen=True, slots=True)
class CsrfToken:
    """The token for this browser session, and the header to send it in."""

    token: str
    header: str


def healthz(call: ApiCall) -> Reply:
    """200 while the store can be read, else 503."""
    try:
        call.services.reader.cursor()
    except StoreError:
        return Reply(Health("unavailable", call.services.live.n_clients), 503)
    return Reply(Health("ok", call.services.live.n_clients))


def prometheus(call: ApiCall) -> Response:
    """Metrics in the Prometheus text format."""
    text = metrics.render(call.services)
    return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def csrf(call: ApiCall) -> CsrfToken:
    """A CSRF token bound to the session cookie, which is set when there is none."""
    guard = Guard(call.services.settings)
    session = guard.session(request)
    if session is None:
        session = g.new_session = guard.new_session("visitor")
    return CsrfToken(guard.csrf_token(session), CSRF_HEADER)


def live(call: ApiCall) -> Response:
    """The stream of a run's deltas."""
    hub, run_id = call.services.live, call.query["run"]
    session = Guard(call.services.settings).session(request)
    try:
        browser = "" if session is None else session.id
        client, first = hub.join(run_id, _last_seen(call), browser, call.query["name"])
    except HubFull:
        raise ApiError(
            503,
            "too_many_streams",
            f"There are {hub.max_clients} streams already, or {STREAMS_OF_BROWSER} of this "
            "browser; poll /live/poll instead.",
            retry_after_s=RETRY_AFTER_S,
        ) from None
    except UnknownRunError:
        raise missing("run", run_id[:80], "See /api/v1/runs.") from None
    response = Response(hub.stream(client, first), mimetype=EVENTS)
    response.call_on_close(lambda: hub.leave(client))
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _last_seen(call: ApiCall) -> int | None:
    """The cursor the client saw last: of a reconnecting EventSource, or the parameter's."""
    header = request.headers.get("Last-Event-ID", "")
    if header.isascii() and header.isdigit() and len(header) < 19:
        return int(header)
    since: int | None = call.query["since"]
    return since


def live_poll(call: ApiCall) -> list[Delta]:
    """What happened after a cursor, as at most one delta."""
    try:
        return call.services.live.since(call.query["run"], call.query["since"])
    except UnknownRunError:
        raise missing("run", call.query["run"][:80], "See /api/v1/runs.") from None


DeltaAnswer = dict[str, Any]
