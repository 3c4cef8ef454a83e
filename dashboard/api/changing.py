"""Handlers that request changes: they check, write a command, and never claim it was applied."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from dashboard.api.common import find_live_run, find_run, read_number
from dashboard.api.params import Param
from dashboard.api.registry import ApiCall, Reply
from dashboard.base.prefix import below
from dashboard.panels.common.market import SAVING, read_market
from dashboard.panels.turns import forecast
from dashboard.serving.errors import ApiError, missing
from dashboard.serving.knob_check import check_value
from dashboard.views.branches import branch_line, taker
from dashboard.views.forecasts import FORECAST, Forecast
from dashboard.views.numbers import MeanInterval
from storage.reader import Reader
from storage.tables.texts import storable
from storage.vocabulary.names import LONGEST_NAME, name_problem
from storage.vocabulary.records import Command, Knob, Run
from storage.vocabulary.taps import MOST_TAPPED_BATCHES, TAP

log = logging.getLogger(__name__)
LONGEST_REASON: Final = 500
LONGEST_QUERY: Final = 8000
LONGEST_TRIAL_S: Final = 86_400
_MOST_NUMBER: Final = 2.0**53
REASON = Param("reason", "string", "Why, for the audit log.", default="", longest=LONGEST_REASON)
STEPS: Final = ("batch", "decision")
STEP_OF = Param(
    "of",
    "string",
    "One batch, or one scheduling decision where a run is in one process.",
    default="batch",
)
NAME = Param("name", "string", "Name of the query.", required=True)


@dataclass(frozen=True, slots=True)
class KnobRequest:
    """Set a knob. expected_version: the knob's version you saw; a newer one gives 409. scope: the
    unit or input whose knob it is, '' for the engine's; may be left out where one has the name.
    unless_kept_s: the engine takes the turn back so many seconds after it took effect, unless it is
    kept by then."""

    knob: str
    value: Any
    reason: str = ""
    expected_version: int | None = None
    scope: str | None = None
    unless_kept_s: int | float | None = None


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Register a continuous query: a name and its CQL text; the engine parses it. system: the name
    of the one that runs it; empty: the first that can."""

    name: str
    text: str
    reason: str = ""
    system: str = ""


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """Replay the run with a knob changed. at: the batch from which on it has the value. scope: the
    unit whose knob it is; may be left out where one has the name."""

    at: int
    knob: str
    value: Any
    scope: str | None = None
    reason: str = ""


def begin_branch(call: ApiCall) -> Reply:
    """Request a branch of a recorded run from an engine that is at work."""
    asked: BranchRequest = call.body
    run, reader = find_run(call), call.services.reader
    last = reader.last_batch(run.id)
    if last is None or not 0 <= asked.at <= last:
        there = "none yet" if last is None else f"0..{last}"
        message = f"at = {asked.at}: the batches of the run are {there}."
        raise ApiError(422, "bad_field", message, field="at")
    knob = find_knob(reader.knobs(run.id, asked.at), asked.knob, asked.scope)
    value = check_value(knob, asked.value)
    engine = taker(reader.runs(), run.id)
    if engine is None:
        setting = f"{knob.name}={value}"
        line = branch_line(run.id, asked.at, knob.scope, reader.where, setting)
        message = f"No engine is at work here; typed in a terminal, {line} computes it."
        raise ApiError(409, "not_running", message)
    payload = {"run": run.id, "at": asked.at, "knob": knob.name, "value": value}
    return _request(call, engine, "branch", {**payload, "scope": knob.scope}, asked.reason)


@dataclass(frozen=True, slots=True)
class TapRequest:
    """Look at what goes through an edge (by its queue) or an operator for so many batches, 1 to
    600; ask again to go on."""

    entity: str
    batches: int = 60


def ask_taps(call: ApiCall) -> Reply:
    """Request a sample of what goes through a place of the plan."""
    asked: TapRequest = call.body
    run = find_live_run(call)
    if not 1 <= asked.batches <= MOST_TAPPED_BATCHES:
        message = f"batches = {asked.batches}: allowed are 1 to {MOST_TAPPED_BATCHES}."
        raise ApiError(422, "bad_field", message, field="batches")
    if all(entity.id != asked.entity for entity in call.services.reader.entities(run.id)):
        raise missing("entity", asked.entity[:80], f"See /api/v1/runs/{run.id}/entities.")
    return _request(call, run, TAP, {"entity": asked.entity, "batches": asked.batches}, "")


def turn_knob(call: ApiCall) -> Reply:
    """Request a knob value."""
    asked: KnobRequest = call.body
    run = find_live_run(call)
    wish = {"knob": asked.knob, "value": asked.value}
    with _kept_if_refused(call, run, "knob", wish, asked.reason):
        knob = find_knob(call.services.reader.knobs(run.id), asked.knob, asked.scope)
        wish["scope"] = knob.scope
        value = check_value(knob, asked.value)
        _check_version(knob, asked.expected_version)
        _check_trial(asked.unless_kept_s)
    payload: dict[str, Any] = {"knob": knob.name, "value": value, "scope": knob.scope}
    expected = _forecast(call.services.reader, run.id, knob, value)
    if expected is not None:
        payload[FORECAST] = expected.record()
    if asked.unless_kept_s is not None:
        payload["unless_kept_s"] = asked.unless_kept_s
    return _request(call, run, "knob", payload, asked.reason, asked.expected_version)


def _forecast(reader: Reader, run: str, knob: Knob, value: Any) -> Forecast | None:
    """As the page shows it before the turn, to be held against what comes of it. A turn is not
    refused because nothing can be foretold."""
    try:
        prediction = forecast(reader, run, knob, value)
        if prediction is not None or knob.unit != "bytes" or not isinstance(value, int):
            return prediction
        market = read_market(reader, run, None)
        limit = None if market is None else market.tried(knob.name, knob.scope, value)
    except Exception:
        log.exception("no forecast of %s = %s", knob.name, value)
        return None
    if limit is None:
        return None
    share = None if limit.share is None else MeanInterval(*(limit.share,) * 3)
    return Forecast(limit.words, SAVING, share)


def keep_turn(call: ApiCall) -> Reply:
    """Request that a turn that holds for a while stands."""
    run = find_live_run(call)
    number = read_number(call.path["number"], "command")
    command = call.services.reader.command(run.id, number)
    if command is None or command.payload.get("unless_kept_s") is None:
        raise missing("turn that waits for a keep", number)
    return _request(call, run, "keep", {"command": number}, "")


def find_knob(knobs: Sequence[Knob], name: str, scope: str | None) -> Knob:
    """The one knob of that name (and scope). Raises ApiError (404, 422)."""
    named = [knob for knob in knobs if knob.name == name]
    if scope is not None:
        named = [knob for knob in named if knob.scope == scope]
    if not named:
        names = ", ".join(sorted({knob.name for knob in knobs})) or "none are published yet"
        raise missing("knob", name[:80], f"Knobs: {names}.")
    if len(named) > 1:
        scopes = [knob.scope for knob in named]
        message = f"Several have a knob {name}; name its scope: {', '.join(scopes)}."
        raise ApiError(422, "bad_field", message, allowed=scopes)
    return named[0]


@contextmanager
def _kept_if_refused(
    call: ApiCall, run: Run, kind: str, wish: Mapping[str, Any], reason: str
) -> Iterator[None]:
    """What the block refuses is in the audit log as well: who asked for what, and why it is not."""
    try:
        yield
    except ApiError as error:
        if call.services.commands is not None:
            texts = {name: _kept(value) for name, value in wish.items()}
            why = storable(reason.strip())[:LONGEST_REASON]
            call.services.commands.append_command(
                run.id, kind, texts, call.actor, why, time.time(), refused=storable(error.message)
            )
            call.services.live.nudge()
        raise


def _kept(value: Any) -> float | str:
    """A refused value as the log keeps it: a number that can be stored, or a text."""
    is_number = isinstance(value, int | float) and abs(value) < _MOST_NUMBER
    return value if is_number else storable(str(value))[:LONGEST_QUERY]


def _check_version(knob: Knob, expected: int | None) -> None:
    if expected is not None and expected != knob.version:
        raise ApiError(
            409,
            "stale",
            f"{knob.name} was changed meanwhile: it is {knob.value} now (version {knob.version}).",
            value=knob.value,
            version=knob.version,
        )


def _check_trial(seconds: float | None) -> None:
    if seconds is not None and not 0 < seconds <= LONGEST_TRIAL_S:
        message = f"unless_kept_s: allowed are up to {LONGEST_TRIAL_S} s, more than 0."
        raise ApiError(422, "bad_field", message, field="unless_kept_s")


def add_query(call: ApiCall) -> Reply:
    """Request a new query."""
    asked: QueryRequest = call.body
    run, text = find_live_run(call), asked.text.strip()
    wish = {"name": asked.name[:LONGEST_NAME], "text": text}
    with _kept_if_refused(call, run, "query_add", wish, asked.reason):
        _check_query(call, run, asked.name, text)
    payload = {"name": asked.name, "text": text}
    if asked.system:
        payload["system"] = asked.system
    return _request(call, run, "query_add", payload, asked.reason)


def _check_query(call: ApiCall, run: Run, name: str, text: str) -> None:
    problem = name_problem(name)
    if problem is not None:
        message = f"The name {name[:LONGEST_NAME]!r} {problem}."
        raise ApiError(422, "bad_name", message, allowed=f"1 to {LONGEST_NAME} characters")
    if not text or len(text) > LONGEST_QUERY:
        message = f"The text is refused: allowed are 1 to {LONGEST_QUERY} characters of CQL."
        raise ApiError(422, "bad_text", message)
    if _is_taken(call, run, name):
        message = f"There is a query {name} already; remove it first or pick another name."
        raise ApiError(409, "duplicate", message)


def remove_query(call: ApiCall) -> Reply:
    """Request the removal of the query in the path."""
    return _change_query(call, "query_remove", call.path["name"])


def remove_named_query(call: ApiCall) -> Reply:
    """Request the removal of the query in the parameter ``name``."""
    return _change_query(call, "query_remove", call.query["name"])


def pause_query(call: ApiCall) -> Reply:
    """Request that a query is paused."""
    return _change_query(call, "query_pause", call.path["name"])


def resume_query(call: ApiCall) -> Reply:
    """Request that a paused query goes on."""
    return _change_query(call, "query_resume", call.path["name"])


def hold(call: ApiCall) -> Reply:
    """Request that no further batch begins."""
    return _request(call, find_live_run(call), "hold", {}, call.query["reason"])


def go_on(call: ApiCall) -> Reply:
    """Request that a held run goes on."""
    return _request(call, find_live_run(call), "go_on", {}, call.query["reason"])


def step(call: ApiCall) -> Reply:
    """Request one step of a held run."""
    run, of = find_live_run(call), call.query["of"]
    if of not in STEPS:
        message = f"of = {of[:40]!r} refused: allowed {' or '.join(STEPS)}."
        raise ApiError(422, "bad_parameter", message, allowed=list(STEPS))
    return _request(call, run, "step", {"of": of}, call.query["reason"])


def _change_query(call: ApiCall, kind: str, name: str) -> Reply:
    run = find_live_run(call)
    with _kept_if_refused(call, run, kind, {"name": name[:LONGEST_NAME]}, call.query["reason"]):
        if not _is_taken(call, run, name):
            raise missing("query", name[:80], f"See /api/v1/runs/{run.id}/queries.")
    return _request(call, run, kind, {"name": name}, call.query["reason"])


def _is_taken(call: ApiCall, run: Run, name: str) -> bool:
    """Whether a query has this name, with what is requested but not yet answered."""
    for command in call.services.reader.commands(run.id):
        if command.kind not in ("query_add", "query_remove") or command.state != "requested":
            continue
        if command.payload.get("name") == name:
            return command.kind == "query_add"
    return call.services.reader.has_query(run.id, name)


def _request(
    call: ApiCall,
    run: Run,
    kind: str,
    payload: Mapping[str, Any],
    reason: str,
    expected_version: int | None = None,
) -> Reply:
    """Write the command; 202 with it as stored."""
    if len(reason) > LONGEST_REASON:
        raise ApiError(422, "bad_field", f"reason: at most {LONGEST_REASON} characters.")
    writer = call.services.commands
    if writer is None:
        raise ApiError(403, "read_only", "This store was opened read-only.")
    command: Command = writer.append_command(
        run.id, kind, dict(payload), call.actor, reason.strip(), time.time(), expected_version
    )
    call.services.live.nudge()
    return Reply(command, 202, {"Location": below(f"/api/v1/runs/{run.id}/commands/{command.id}")})
