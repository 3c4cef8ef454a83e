"""The handler that tells what if a decision had not changed the plan."""

from __future__ import annotations

from typing import Final

from dashboard.api.common import find_run
from dashboard.api.params import Param
from dashboard.api.registry import ApiCall
from dashboard.panels.if_not import IfNotAnswer, read_if_not
from dashboard.serving.errors import missing

IF_NOT_PARAMS: Final = (
    Param("unit", "string", "Unit whose decision it is.", required=True),
    Param("decision", "integer", "Number of the decision.", required=True, low=1),
)


def if_not(call: ApiCall) -> IfNotAnswer:
    """What a branch that keeps the plan of before came to, or how to begin it."""
    run, unit, seq = find_run(call), call.query["unit"], call.query["decision"]
    entry = call.services.reader.decision(run.id, seq, unit)
    if entry is None:
        raise missing("decision", seq, f"See /api/v1/runs/{run.id}/decisions.")
    read_only = call.services.why_no_control
    return read_if_not(call.services.reader, run, entry.decision, read_only)
