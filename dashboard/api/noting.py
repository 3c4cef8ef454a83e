"""Handlers of what people write down: notes, sets of knob values, alert rules, saved queries, sets
of graphs.

They ask nothing of the engine, so a run that ended takes them too; none is ever overwritten.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from flask import Response, send_file

from dashboard.api.common import find_run, read_number
from dashboard.api.params import Param
from dashboard.api.registry import ApiCall, Reply
from dashboard.base.prefix import below
from dashboard.report import page_of
from dashboard.report.postmortem import records_of
from dashboard.serving.alerts import alert_states
from dashboard.serving.errors import ApiError, missing
from dashboard.views.alerts import AlertState, why_no_rule
from storage.vocabulary.records import NOTED, Command

WRITABLE: Final = tuple(kind for kind in NOTED if kind != "forget")
PACKED_MEDIA: Final = "application/gzip"
LONGEST_NAME: Final = 200
LONGEST_BODY: Final = 20_000
#: Kinds that are shown with every run.
_SHARED: Final = ("sql", "board")
KIND = Param("kind", "string", f"One of {', '.join(WRITABLE)}.", default="note")


@dataclass(frozen=True, slots=True)
class NoteRequest:
    """Write something down. kind: one of WRITABLE. name: of a note its text. body: of a note
    {"batch"}; of a preset {"values": [{"knob", "scope", "value"}]}; of an alert rule
    {"entity", "property", "relation", "threshold", "for_s", "webhook"}, or {"silence", "seconds"}
    of a rule by its name; of a saved query {"text"}; of a board {"show"}, its graphs as an address
    of the Monitor page has them."""

    kind: str
    name: str
    body: Any = field(default_factory=dict)


def notes(call: ApiCall) -> tuple[Command, ...]:
    """What was written down of a kind and not withdrawn, oldest first."""
    _check_kind(call.query["kind"])
    return call.services.reader.noted(call.query["kind"], find_run(call).id)


def write_note(call: ApiCall) -> Reply:
    """Write something down."""
    asked: NoteRequest = call.body
    _check_kind(asked.kind)
    name = asked.name.strip()
    if not name or len(name) > (LONGEST_BODY if asked.kind == "note" else LONGEST_NAME):
        raise ApiError(422, "bad_field", "name: allowed are 1 to 200 characters (a note: 20000).")
    if not isinstance(asked.body, dict) or len(json.dumps(asked.body)) > LONGEST_BODY:
        raise ApiError(422, "bad_field", f"body: an object of at most {LONGEST_BODY} characters.")
    why_unfit = _UNFIT.get(asked.kind)
    why = why_unfit(asked.body) if why_unfit is not None else ""
    if why:
        raise ApiError(422, "bad_field", f"body: {why}.")
    payload = {"name": name, "body": asked.body}
    return _write(call, find_run(call).id, asked.kind, payload)


def forget_note(call: ApiCall) -> Reply:
    """Withdraw what was written down; it stays in the audit log."""
    number, reader = read_number(call.path["number"], "note"), call.services.reader
    shared = (note for kind in _SHARED for note in reader.noted(kind) if note.id == number)
    command = reader.command(find_run(call).id, number) or next(shared, None)
    if command is None or command.kind not in WRITABLE:
        raise missing("note", number)
    payload = {"command": number, "name": command.payload.get("name", "")}
    return _write(call, command.run_id, "forget", payload)


def _check_kind(kind: str) -> None:
    if kind not in WRITABLE:
        message = f"kind = {kind[:20]!r} refused: allowed {', '.join(WRITABLE)}."
        raise ApiError(422, "bad_field", message, allowed=WRITABLE)


def _why_no_preset(body: Mapping[str, Any]) -> str:
    values = body.get("values")
    if isinstance(values, list) and all(isinstance(row, dict) for row in values):
        return ""
    return "a preset needs values, a list of objects"


def _why_no_query(body: Mapping[str, Any]) -> str:
    return "" if isinstance(body.get("text"), str) else "a saved query needs text"


def _why_no_board(body: Mapping[str, Any]) -> str:
    show = body.get("show")
    return "" if isinstance(show, str) and show else "a board needs show, its graphs"


#: Why a body does not fit its kind, or ''.
_UNFIT: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "alert": why_no_rule,
    "preset": _why_no_preset,
    "sql": _why_no_query,
    "board": _why_no_board,
}


def _write(call: ApiCall, run: str, kind: str, payload: dict[str, Any]) -> Reply:
    writer = call.services.commands
    if writer is None:
        raise ApiError(403, "read_only", "This store was opened read-only.")
    stored = writer.append_command(run, kind, payload, call.actor, "", time.time())
    call.services.live.nudge()
    return Reply(stored, 201, {"Location": below(f"/api/v1/runs/{run}/commands/{stored.id}")})


def report(call: ApiCall) -> Response:
    """The post-mortem as one HTML file."""
    run = find_run(call)
    text = page_of(records_of(call.services.reader, run))
    return _attached(Response(text, mimetype="text/html"), f"{run.id}.html")


def export(call: ApiCall) -> Response:
    """The records of the run as a separate store, compressed."""
    run = find_run(call)
    with tempfile.TemporaryDirectory(prefix="planwatch-export-") as folder:
        path = Path(folder) / "run.planwatch.gz"
        call.services.reader.export_run(run.id, path)
        content = path.open("rb")  # sent in pieces; it outlives its name
    sent = send_file(content, mimetype=PACKED_MEDIA)
    return _attached(sent, f"{run.id}.planwatch.gz")


def _attached(response: Response, name: str) -> Response:
    plain = re.sub(r"[^\w.-]+", "_", name)
    response.headers["Content-Disposition"] = f'attachment; filename="{plain}"'
    return response


def alerts(call: ApiCall) -> list[AlertState]:
    """The alert rules of the run, and which of them hold."""
    return alert_states(call.services.reader, find_run(call).id, call.query["at"])
