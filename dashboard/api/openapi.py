"""The OpenAPI 3.1 document, generated from the route registry and the record dataclasses."""

from __future__ import annotations

from typing import Any

from dashboard.api.registry import JSON, Route
from dashboard.api.schemas import Schema, SchemaBook

_REASONS = {
    200: "The answer",
    201: "Written down",
    202: "Requested; the engine answers at a batch boundary",
    400: "The request cannot be read",
    401: "A token is needed",
    403: "Read-only, or asked by another site",
    404: "There is no such thing",
    409: "It does not fit the state of the run",
    413: "The body is too large",
    415: "The body is not JSON",
    422: "A value is not allowed; the message says what is",
    503: "Not now; see Retry-After",
}
_ERROR: Schema = {
    "type": "object",
    "description": "Every error: one word for programs, one sentence for people.",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}


def build_document(routes: tuple[Route, ...], version: str) -> dict[str, Any]:
    """The document. Every route of the registry is in it, and nothing else."""
    book = SchemaBook()
    book.schemas["Error"] = _ERROR
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, book)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Planwatch",
            "version": version,
            "description": "Runs, plans, decisions and knobs of adaptive continuous queries. "
            "Times are Unix seconds (UTC); batches count from 0; null means unknown.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(book.schemas.items())),
            "securitySchemes": _schemes(),
        },
    }


def _schemes() -> dict[str, Any]:
    return {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": "PLANWATCH_TOKEN, or the generated one printed at the start.",
        },
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": "X-CSRF-Token",
            "description": "The page's token, bound to its session cookie; see /api/v1/csrf.",
        },
    }


def _operation(route: Route, book: SchemaBook) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": _parameters(route),
        "responses": _responses(route, book),
    }
    if route.body is not None:
        schema = book.request(route.body)
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    if route.change:
        operation["security"] = [{"bearer": []}, {"csrf": []}]
    elif not route.open:
        operation["security"] = [{}, {"bearer": []}]
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    places = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in route.places
    ]
    return places + [
        {
            "name": param.name,
            "in": "query",
            "required": param.required,
            "description": param.help,
            "schema": _parameter_schema(param.kind, param.low, param.high, param.default),
        }
        for param in route.params
    ]


def _parameter_schema(kind: str, low: float | None, high: float | None, default: Any) -> Schema:
    parts = {"minimum": low, "maximum": high, "default": default}
    return {"type": kind} | {key: value for key, value in parts.items() if value is not None}


def _responses(route: Route, book: SchemaBook) -> dict[str, Any]:
    if route.media == JSON:
        content: Schema = {JSON: {"schema": book.of(route.answer)}}
    else:
        content = {route.media: {"schema": {"type": "string"}}}
    answers = {str(route.status): {"description": _REASONS[route.status], "content": content}}
    for status in sorted({*route.errors, *_implied_errors(route)}):
        error = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
        answers[str(status)] = {"description": _REASONS[status], "content": error}
    return answers


def _implied_errors(route: Route) -> set[int]:
    """Statuses every route of this form may answer with."""
    statuses = set() if route.open else {400, 401, 403}
    if route.change:
        statuses |= {401, 403, 409}
    if route.body is not None:
        statuses |= {400, 415, 422}
    if route.places:
        statuses.add(404)
    if route.params or not route.open:
        statuses.add(422)
    return statuses | ({503} if not route.open else set())
