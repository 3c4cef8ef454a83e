"""Alert rules of running runs: which hold now, and who is told when one begins to."""

from __future__ import annotations

import json
import logging
import threading
import urllib.request
from collections.abc import Iterable
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from dashboard.serving.settings import is_loopback
from dashboard.views.alerts import AlertState, rules_of, states_of
from dashboard.views.book import Book
from storage.errors import StoreError
from storage.exchange.liveness import LIVE_STATES
from storage.reader import Reader
from storage.vocabulary.records import Run

log = logging.getLogger(__name__)
EVERY_S: Final = 2.0
PATIENCE_S: Final = 3.0


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
    """The rules of a run at a batch."""
    rules = rules_of(reader.noted("alert", run))
    if not rules:
        return []
    return states_of(rules, reader.values(run, at), Book(reader.entities(run, at)))


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
