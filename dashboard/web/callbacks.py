"""Dash's own routes, asked for what is not there: refused in words, never a broken server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dash import Dash
from dash._utils import split_callback_id
from dash.exceptions import DependencyException
from flask import Flask, Response, request

from dashboard.api.params import read_object
from dashboard.api.registry import respond
from dashboard.serving.errors import ApiError, error_body

UPDATE = "/_dash-update-component"
#: In the id of a pattern, which stands for all components that fit it.
_EVERY = '["ALL"]'


def install(server: Flask, app: Dash) -> None:
    """Check calls of callbacks before Dash takes them apart; unknown scripts are a 404."""

    @server.before_request
    def _check() -> None:
        if request.path == UPDATE and request.method == "POST":
            check_call(read_object(request), app.callback_map)

    @server.errorhandler(DependencyException)
    def _no_script(error: DependencyException) -> Response:
        return respond(error_body("not_found", "There is no such script."), 404)


def check_call(body: Mapping[str, Any], callbacks: Mapping[str, Any]) -> None:
    """Raise ApiError (400) unless the body calls one of the callbacks, with what belongs to it."""
    output = body.get("output")
    callback = callbacks.get(output) if isinstance(output, str) else None
    if callback is None or "callback" not in callback:
        raise _refused("The body names no callback of this application.")
    outputs = split_callback_id(output)  # type: ignore[no-untyped-call]  # Dash
    wanted = {"inputs": callback["inputs"], "state": callback["state"], "outputs": outputs}
    for key, parts in wanted.items():
        given = body.get(key, [])
        several = isinstance(parts, list)
        if not _fit(given if several else [given], parts if several else [parts]):
            raise _refused(f"The {key} are not those of the callback {output}.")
    changed = body.get("changedPropIds", [])
    if not (isinstance(changed, list) and all(isinstance(part, str) for part in changed)):
        raise _refused("changedPropIds must be a list of names.")


def _fit(given: Any, wanted: list[dict[str, str]]) -> bool:
    """Whether these are the values of those components; a pattern stands for a list."""
    if not (isinstance(given, list) and len(given) == len(wanted)):
        return False
    return all(_fits(part, component) for part, component in zip(given, wanted, strict=True))


def _fits(part: Any, component: dict[str, str]) -> bool:
    if _EVERY in component["id"]:
        many = part if isinstance(part, list) else [None]
        return all(isinstance(p, dict) and {"id", "property"} <= p.keys() for p in many)
    wanted = json.loads(component["id"]) if component["id"].startswith("{") else component["id"]
    named = isinstance(part, dict) and part.get("id") == wanted
    return named and part.get("property") == component["property"]


def _refused(message: str) -> ApiError:
    return ApiError(400, "bad_callback", message)
