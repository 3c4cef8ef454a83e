"""Whether a value is allowed for a knob, by the Knob row alone."""

from __future__ import annotations

import math
from typing import Any

from dashboard.serving.errors import ApiError
from storage.vocabulary.records import Knob


def check_value(knob: Knob, value: Any) -> float | int | str | bool:
    """The value in the knob's own type. Raises ApiError (422) that carries what is allowed."""
    if knob.kind == "choice" and isinstance(value, str) and value in knob.choices:
        return value
    if knob.kind == "bool" and isinstance(value, bool):
        return value
    if knob.kind == "text" and isinstance(value, str) and value.isprintable():
        return value
    if knob.kind in ("float", "int"):
        number = _number(value)
        if number is not None and _fits(knob, number):
            return int(number) if knob.kind == "int" else number
    raise refusal(knob, value)


def refusal(knob: Knob, value: Any) -> ApiError:
    """422 with the allowed values as a phrase and as data."""
    shown = f"{value!r}" if len(repr(value)) <= 60 else repr(value)[:60] + "…"
    return ApiError(
        422,
        "out_of_range",
        f"{knob.name} = {shown} refused: allowed {allowed(knob)}.",
        allowed={
            "kind": knob.kind,
            "low": knob.low,
            "high": knob.high,
            "choices": knob.choices,
            "unit": knob.unit,
        },
    )


def allowed(knob: Knob) -> str:
    """The allowed values, as one phrase."""
    if knob.kind == "choice":
        return "one of " + ", ".join(knob.choices)
    if knob.kind == "bool":
        return "true or false"
    if knob.kind == "text":
        return "a line of text"
    word = "whole numbers " if knob.kind == "int" else ""
    low = "-∞" if knob.low is None else f"{knob.low:g}"
    high = "∞" if knob.high is None else f"{knob.high:g}"
    return f"{word}{low}..{high} {knob.unit}".rstrip()


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _fits(knob: Knob, number: float) -> bool:
    low = -math.inf if knob.low is None else knob.low
    high = math.inf if knob.high is None else knob.high
    return low <= number <= high and (knob.kind != "int" or number.is_integer())
