"""What several handlers need: the run of a call, parameters with the same meaning everywhere."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from typing import Any, Final, get_type_hints

from dashboard.api.params import Param
from dashboard.api.registry import ApiCall
from dashboard.serving.encode import plain
from dashboard.serving.errors import ApiError, missing
from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.records import Run

BEFORE_FIRST: Final = -1

AT = Param("at", "integer", "Look from this batch; default: now.", low=BEFORE_FIRST)
UNTIL = Param("until", "integer", "Only batches up to this one.", low=BEFORE_FIRST)
UNIT = Param("unit", "string", "Only of this unit; default: all, or the first that has it.")
SINCE = Param("since", "integer", "Only batches from this one on.", low=BEFORE_FIRST)


def limit(default: int, highest: int) -> Param:
    """The parameter that bounds the length of a list."""
    words = "At most this many, the newest ones."
    return Param("limit", "integer", words, default=default, low=1, high=highest)


def find_run(call: ApiCall) -> Run:
    """The run the path names. Raises ApiError (404)."""
    run = call.services.reader.run(call.path["run_id"])
    if run is None:
        raise missing("run", call.path["run_id"][:80], "See /api/v1/runs.")
    return run


def find_live_run(call: ApiCall) -> Run:
    """The run the path names, if it can still be changed. Raises ApiError (404, 409)."""
    run = find_run(call)
    if run.state not in LIVE_STATES:
        message = f"The run is {run.state}: it can no longer be changed."
        raise ApiError(409, "not_running", message, state=run.state)
    return run


def read_number(text: str, what: str) -> int:
    """The number in a path. Raises ApiError (404) when it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise missing(what, text[:40])
    return int(text)


def flat_type(name: str, doc: str, record: type, **extra: Any) -> type:
    """A dataclass with the fields of ``record`` and further ones: the shape of flat()."""
    hints = get_type_hints(record)
    parts = [(part.name, hints[part.name]) for part in fields(record)]
    kind = make_dataclass(name, [*extra.items(), *parts], frozen=True)
    kind.__doc__ = doc
    return kind


def flat(record: Any, **extra: Any) -> dict[str, Any]:
    """The fields of a record and further ones in one object."""
    return {**plain(extra), **plain(record)}
