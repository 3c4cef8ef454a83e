"""The one list of routes: what Flask serves, what OpenAPI documents, what the tests walk over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from flask import Flask, Response, request

from dashboard.api.params import Param, check_text, read_body, read_query
from dashboard.serving.encode import dump
from dashboard.serving.errors import ApiError
from dashboard.serving.security import Guard
from dashboard.serving.services import Services

Method: TypeAlias = Literal["GET", "POST", "DELETE"]
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call of a handler: checked path names, query parameters and body.

    actor: who asks for a change ('page 127.0.0.1', 'api 10.0.0.2'), '' when reading.
    """

    services: Services
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any = None
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler answers: records or plain data, and an HTTP status."""

    data: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Handler: TypeAlias = Callable[[ApiCall], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path.

    path: with ``{name}`` places. handler: returns data (200), a Reply or a Flask Response.
    answer: type of the answer's JSON, or None when ``media`` is not JSON. body: dataclass of the
    request. status: of success. change: needs the bearer or the CSRF token. errors: further
    statuses it may answer with. open: served without any token on any host.
    """

    method: Method
    path: str
    handler: Handler
    summary: str
    answer: Any = None
    params: tuple[Param, ...] = ()
    body: type | None = None
    status: int = 200
    errors: tuple[int, ...] = ()
    change: bool = False
    media: str = JSON
    tag: str = "reading"
    open: bool = False

    @property
    def name(self) -> str:
        """The operationId: get_runs_run_id_plans."""
        path = self.path.removeprefix("/api/v1")
        return (self.method.lower() + re.sub(r"[^a-z0-9]+", "_", path.lower())).rstrip("_")

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the path's places."""
        return tuple(re.findall(r"{(\w+)}", self.path))


def install(server: Flask, services: Services, guard: Guard, routes: tuple[Route, ...]) -> None:
    """Serve the routes, and JSON 404s for everything else below /api/."""
    for route in routes:
        rule = re.sub(r"{(\w+)}", r"<\1>", route.path)
        view = _view(route, services, guard)
        server.add_url_rule(rule, route.name, view, methods=[route.method])
    server.add_url_rule("/api/<path:rest>", "api_nowhere", _nowhere)


def _view(route: Route, services: Services, guard: Guard) -> Callable[..., Response]:
    def view(**path: str) -> Response:
        actor = guard.check_change(request) if route.change else ""
        check_text(path)
        query = read_query(route.params, request.args)
        body = read_body(route.body, request) if route.body else None
        answer = route.handler(ApiCall(services, path, query, body, actor))
        return respond(answer, route.status)

    return view


def respond(answer: Any, status: int = 200) -> Response:
    """A Flask response of data, of a Reply, or of a Flask response itself."""
    if isinstance(answer, Response):
        return answer
    reply = answer if isinstance(answer, Reply) else Reply(answer, status)
    response = Response(dump(reply.data) + "\n", reply.status, mimetype=JSON)
    response.headers.update(reply.headers)
    return response


def _nowhere(rest: str) -> Response:
    raise ApiError(
        404, "not_found", f"There is no /api/{rest}; /api/v1/openapi.json lists what there is."
    )
