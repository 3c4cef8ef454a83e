"""API errors: one JSON shape for all of them, ``{"error": {"code", "message", ...}}``."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """An answer that is an error. status: HTTP; code: one word; message: a sentence.

    details: further JSON fields of the error, for example the allowed range.
    """

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.details = status, code, message, details


def error_body(code: str, message: str, **details: Any) -> dict[str, Any]:
    """The JSON of an error."""
    return {"error": {"code": code, "message": message, **details}}


def missing(what: str, name: object, known: str = "") -> ApiError:
    """404: there is no such thing. known: what there is, as a sentence, or ''."""
    message = f"There is no {what} {name!r}." if isinstance(name, str) else f"No {what} {name}."
    return ApiError(404, "not_found", f"{message} {known}".strip())
