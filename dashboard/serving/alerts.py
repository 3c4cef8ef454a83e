"""Alert rules of running runs: which hold now, and who is told when one begins to."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from dashboard.base.face import faces
from dashboard.serving.settings import is_loopback
from dashboard.views.alert_defaults import (
    DEAD,
    MISFITS,
    backlog_rule,
    dead_engine,
    dead_spells,
    misfit_spells,
    misfits,
    state_forecast,
)
from dashboard.views.alert_spells import Spell, spells
from dashboard.views.alerts import (
    AlertRule,
    AlertState,
    property_of,
    rules_of,
    silenced,
    silences_of,
    states_of,
)
from dashboard.views.book import SYSTEM, Book
from dashboard.views.gaps import gaps_of
from storage.errors import StoreError
from storage.exchange.liveness import LIVE_STATES
from storage.reader import Reader
from storage.vocabulary.records import Run

log = logging.getLogger(__name__)
EVERY_S: Final = 2.0
PATIENCE_S: Final = 3.0
#: Batches looked back for how long a rule is true; points of a history.
RECENT: Final = 600
HISTORY_POINTS: Final = 2000


class WebhookRefused(Exception):
    """An address alerts are not sent to; the message is a sentence."""


def check_webhook(address: str, elsewhere: bool) -> str:
    """The address, if alerts may go there. elsewhere: another machine is allowed.

    Raises WebhookRefused.
    """
    if not address:
        return ""
    try:
        parts = urlsplit(address)
        host = parts.hostname if parts.port != 0 and address.isascii() else None
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise WebhookRefused(f"--webhook {address!r} is no http address; example: http://HOST/path")
    if not elsewhere and not is_loopback(host):
        raise WebhookRefused(
            f"--webhook {address!r} is on another machine; --allow-webhook lets alerts go there"
        )
    return address


def alert_states(reader: Reader, run: str, at: int | None = None) -> list[AlertState]:
    """The rules of a run at a batch: those people wrote, then those that every run has."""
    noted, values = reader.noted("alert", run), reader.values(run, at)
    silences, now = silences_of(noted), time.time()
    rules = [*rules_of(noted), backlog_rule(values.get(SYSTEM, {}).get("tuples_per_s"))]
    entities = Book(reader.entities(run, at))
    keys = [
        (entity, property_of(rule, values.get(entity, {})))
        for rule in rules
        if rule.for_s and (entity := entities.addressed(rule.entity)) in values
    ]
    last = reader.last_batch(run) if at is None else at
    since = None if last is None else max(0, last - RECENT)
    series = reader.many_series(run, keys, since_batch=since, until_batch=last) if keys else {}
    states = states_of(rules, values, entities, series, silences, now)
    return states + [silenced(state, silences, now) for state in _of_all(reader, run, last, values)]


def _of_all(
    reader: Reader, run_id: str, last: int | None, values: Mapping[str, Mapping[str, float | None]]
) -> list[AlertState]:
    """Those that every run has and that go by more than one property."""
    run = reader.run(run_id)
    if run is None or last is None:
        return []
    limits = {name: knob for face in faces() for name, knob in face.limited.items()}
    knobs = {(knob.scope, knob.name): knob.value for knob in reader.knobs(run_id, last)}
    entities = reader.entities(run_id, last)
    limited = {
        (entity.id, name): (entity.name, float(limit))
        for entity in entities
        for name, knob in limits.items()
        if (limit := knobs.get((entity.unit_id, knob))) and name in values.get(entity.id, {})
        if entity.role == "system"
    }
    since = max(0, last - RECENT)
    known = reader.many_series(run_id, [*limited], since_batch=since, until_batch=last)
    state = state_forecast(
        {key[0]: (limited[key][0], known[key], limited[key][1]) for key in limited if key in known}
    )
    states = [misfits(reader.batches(run_id, until=last, limit=RECENT))]
    states += [] if state is None else [state]
    return [dead_engine(run), *states] if last == reader.last_batch(run_id) else states


def alert_history(reader: Reader, run: str, at: int | None) -> list[tuple[AlertRule, Spell]]:
    """When rules held, newest first, as far as the run is on record."""
    values, entities = reader.values(run, at), Book(reader.entities(run, at))
    rate = values.get(SYSTEM, {}).get("tuples_per_s")
    rules = [*rules_of(reader.noted("alert", run)), backlog_rule(rate)]
    keys = {
        rule: (entity := entities.addressed(rule.entity), property_of(rule, values.get(entity, {})))
        for rule in rules
    }
    asked = list(dict.fromkeys(keys.values()))
    series = reader.many_series(run, asked, until_batch=at, max_points=HISTORY_POINTS)
    held = [
        (rule, spell)
        for rule, key in keys.items()
        if key in series
        for spell in spells(series[key], rule.relation, rule.threshold)
        if spell.until - spell.since >= rule.for_s
    ]
    events = reader.events(run, until=at, kinds=("run",))
    held += [(DEAD, spell) for spell in dead_spells(gaps_of(events), events)]
    batches = reader.batches(run, until=at, limit=HISTORY_POINTS)
    held += [(MISFITS, spell) for spell in misfit_spells(batches)]
    return sorted(held, key=lambda pair: -pair[1].since)


def told(run: Run, state: AlertState) -> dict[str, Any]:
    """What the webhook gets of a rule that begins to hold."""
    rule = state.rule
    return {
        "run": run.id,
        "workload": run.workload,
        "rule": rule.name,
        "entity": rule.entity,
        "property": rule.property,
        "value": state.value,
        "relation": rule.relation,
        "threshold": rule.threshold,
    }


class _Stay(urllib.request.HTTPRedirectHandler):
    """No redirection leads to another machine."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Nothing."""


class AlertWatch:
    """Looks at the rules of all running runs every two seconds while there is a webhook."""

    def __init__(self, reader: Reader, webhook: str) -> None:
        self._reader, self._webhook = reader, webhook
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._firing: set[tuple[str, int]] = set()
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay())

    def start(self) -> None:
        """Begin, if there is somebody to tell."""
        if self._webhook:
            self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End within the patience for one answer."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S + 1)

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_S):
            try:
                self.look()
            except StoreError as error:
                log.warning("alert rules were not checked: %s", error)

    def look(self) -> None:
        """Tell of the rules that began to hold since the last look."""
        firing = set()
        for run in self._reader.runs():
            if run.state in LIVE_STATES:
                states = [
                    alert_state
                    for alert_state in alert_states(self._reader, run.id)
                    if alert_state.fires
                ]
                firing |= {(run.id, state.rule.id) for state in states} - self._untold(run, states)
        self._firing = firing

    def _untold(self, run: Run, states: Iterable[AlertState]) -> set[tuple[str, int]]:
        """Tell of rules that began to hold; those that nobody could be told of."""
        began = [state for state in states if (run.id, state.rule.id) not in self._firing]
        return {
            (run.id, state.rule.id)
            for state in began
            if state.rule.webhook and not self._post(told(run, state))
        }

    def _post(self, data: dict[str, Any]) -> bool:
        """Whether it was told."""
        request = urllib.request.Request(
            self._webhook,
            json.dumps(data).encode(),
            {"Content-Type": "application/json", "User-Agent": "Planwatch"},
        )
        try:
            self._opener.open(request, timeout=PATIENCE_S).close()
        except (OSError, HTTPException, ValueError) as error:
            log.warning("the webhook could not be called for %s: %s", data["rule"], error)
            return False
        return True
