"""The dashboard as a running server: store opened, poller started, waitress listening."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import Any, Final

from waitress import create_server, wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import BaseWSGIServer
from waitress.trigger import trigger

from dashboard.serving.alerts import AlertWatch
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from dashboard.web.app import LONGEST_BODY_BYTES, create_app
from storage.store import (
    CommandWriter,
    StoreMissing,
    StoreReadOnly,
    open_command_writer,
    open_engine_writer,
    open_reader,
)

#: Answers below this stay in memory; the largest asset has 5 MB.
_SPILL_BYTES: Final = 64 * 2**20
_MOST_BUFFERED_BYTES: Final = 8 * 1024 * 1024
_STOP_WITHIN_S: Final = 0.5
#: Connections at once; one that asks for nothing, or has not asked to the end, is closed after
#: IDLE_S.
_MOST_CONNECTIONS: Final = 900
IDLE_S: Final = 20
#: Threads kept free for pages and the API while all streams are open.
_SPARE_THREADS: Final = 8


class StrictParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """A request whose length is told in one way: what told it in two is answered 400 and ends the
    connection, since a proxy may take another part of it for the next request."""

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head of a request. Raises ParsingError.

        waitress takes Transfer-Encoding out of the headers where it is heard, from HTTP/1.1 on.
        """
        super().parse_header(header_plus)
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Content-Length and Transfer-Encoding exclude each other")
        if "TRANSFER_ENCODING" in self.headers:
            raise ParsingError("Transfer-Encoding needs HTTP/1.1")


class PromptChannel(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection whose time runs from the first byte of a request until its last one.

    last_activity: Unix s.
    """

    last_activity: float
    parser_class = StrictParser

    def handle_read(self) -> None:
        """Take what has come; more of the same request is no sign of life."""
        unfinished: Any = self.request
        since = self.last_activity
        super().handle_read()
        if unfinished is not None and self.request is unfinished:
            self.last_activity = since


class Server:
    """One dashboard. ``run()`` blocks until ``stop()``, which any thread may call."""

    def __init__(self, settings: Settings) -> None:
        """Open everything. Raises StoreError, and OSError when the port cannot be had."""
        self.settings = settings
        self.services = open_services(settings)
        self._sockets: dict[int, Any] = {}
        self._stopping = threading.Event()
        self._alerts = AlertWatch(self.services.reader, settings.webhook)
        try:
            self._server: Any = create_server(
                create_app(self.services).server,
                map=self._sockets,
                host=settings.host,
                port=settings.port,
                threads=settings.threads,
                ident=None,
                max_request_body_size=2 * LONGEST_BODY_BYTES,  # the application answers before
                outbuf_high_watermark=_MOST_BUFFERED_BYTES,
                outbuf_overflow=_SPILL_BYTES,
                connection_limit=_MOST_CONNECTIONS,
                channel_timeout=IDLE_S,
                cleanup_interval=max(1, IDLE_S // 4),
                clear_untrusted_proxy_headers=True,
            )
            for listening in self._sockets.values():
                if isinstance(listening, BaseWSGIServer):
                    listening.channel_class = PromptChannel
        except BaseException:
            wasyncore.close_all(self._sockets)
            close_services(self.services)
            raise

    @property
    def port(self) -> int:
        """The port it listens on (the one the system chose when the settings say 0)."""
        listens: list[tuple[str, int]] = getattr(self._server, "effective_listen", [])
        return int(listens[0][1] if listens else self._server.effective_port)

    def run(self) -> None:
        """Serve until stop() or a signal; then everything is closed."""
        self.services.live.start()
        self._alerts.start()
        try:
            while not self._stopping.is_set():
                wasyncore.loop(_STOP_WITHIN_S, use_poll=True, map=self._sockets, count=1)
        finally:
            self._close()

    def stop(self) -> None:
        """Make run() return; safe in a signal handler."""
        self._stopping.set()
        for waiting in tuple(self._sockets.values()):
            if isinstance(waiting, trigger):
                with suppress(OSError):  # the loop woke by itself and has closed it
                    waiting.pull_trigger()

    def stop_on_signals(self) -> None:
        """Let SIGINT and SIGTERM end ``run()``. For the main thread only."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _number, _frame: self.stop())

    def _close(self) -> None:
        self._alerts.stop()
        self.services.live.stop()
        self._server.task_dispatcher.shutdown(timeout=_STOP_WITHIN_S)
        wasyncore.close_all(self._sockets)
        close_services(self.services)


def open_services(settings: Settings) -> Services:
    """The services on the settings' store; a missing store is made, but never in a replay.

    Raises StoreError.
    """
    if not settings.replay:
        try:
            open_engine_writer(settings.store_url).close()
        except (StoreMissing, StoreReadOnly):
            if settings.allow_control:
                raise
    reader = open_reader(settings.store_url)
    commands: CommandWriter | None = None
    if not settings.why_no_control:
        commands = open_command_writer(settings.store_url)
    streams = min(settings.max_streams, settings.threads - _SPARE_THREADS)
    return Services(reader, commands, settings, Hub(reader, max(1, streams)))


def close_services(services: Services) -> None:
    """Stop the poller and close the store."""
    services.live.stop()
    if services.commands is not None:
        services.commands.close()
    services.reader.close()
