"""The command line of the dashboard: open a store, serve it, stop cleanly."""

from __future__ import annotations

import argparse
import errno
import gc
import logging
import os
import sys
import time
from collections.abc import Sequence

from dashboard.serving.alerts import WebhookRefused, check_webhook
from dashboard.serving.hosts import AddressRefused, check_host_names, check_prefix
from dashboard.serving.settings import Settings, is_loopback
from dashboard.web.app import page_names
from dashboard.web.server import Server
from dashboard.web.tokens import (
    VARIABLE,
    VIEWER_VARIABLE,
    TokenRefused,
    find_token,
    find_viewer_token,
)
from storage.errors import StoreError
from storage.reader import open_reader

BAD_REQUEST = 2


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="dashboard", description="Serve the dashboard on a store."
    )
    parser.add_argument("--store", metavar="URL", required=True, help="file or SQLAlchemy URL")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=8050, help="port (%(default)s); 0 takes any")
    parser.add_argument(
        "--awaits-run",
        action="store_true",
        help="a run is being started beside this: until its first batch the newest recorded one "
        "plays",
    )
    _add_access(parser)
    return parser


def _add_access(parser: argparse.ArgumentParser) -> None:
    """Who may do what, and from where."""
    parser.add_argument(
        "--read-only", action="store_true", help="read-only: no changes from the browser or the API"
    )
    parser.add_argument(
        "--replay", action="store_true", help="the store is a recording: open it read-only"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="people open it at this host through a proxy: 'name', or 'name:port' for that port "
        "alone; may be given again",
    )
    parser.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="path that a proxy puts before the dashboard's own, such as /pw; it may take it off "
        "requests or leave it",
    )
    parser.add_argument(
        "--webhook",
        default="",
        metavar="URL",
        help="post alerts that begin to this address; off by default, on this machine only",
    )
    parser.add_argument(
        "--allow-webhook", action="store_true", help="let the webhook be on another machine"
    )


def read_settings(arguments: Sequence[str]) -> Settings:
    """The settings a command line asks for.

    Raises TokenRefused, WebhookRefused, AddressRefused, StoreError.
    """
    options = build_parser().parse_args(arguments)
    if options.replay:
        open_reader(options.store).close()  # nothing is left beside a file that is no recording
    token, is_open = find_token(options.store, os.environ), not is_loopback(options.host)
    return Settings(
        store_url=options.store,
        token=token,
        viewer_token=find_viewer_token(os.environ, token, is_open),
        host=options.host,
        port=options.port,
        allow_control=not (options.read_only or options.replay),
        replay=options.replay,
        webhook=check_webhook(options.webhook, options.allow_webhook),
        awaits_since=time.time() if options.awaits_run else None,
        allowed_hosts=tuple(str(host) for host in check_host_names(options.allow_host)),
        prefix=check_prefix(options.prefix, page_names()),
    )


def main(arguments: Sequence[str]) -> int:
    """Serve until Ctrl-C or SIGTERM; the exit status (2: it could not be started)."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    try:
        server = Server(read_settings(arguments))
    except (StoreError, TokenRefused, WebhookRefused, AddressRefused) as error:
        print(error, file=sys.stderr, flush=True)
        return BAD_REQUEST
    except OSError as error:
        print(_cannot_listen(error), file=sys.stderr, flush=True)
        return BAD_REQUEST
    server.stop_on_signals()
    _collect_seldom()
    print(greeting(server.settings, server.port), flush=True)
    server.run()
    return 0


def _collect_seldom() -> None:
    """Look for garbage in cycles seldom, and never through what starting made: answers are many
    objects in few cycles, and a look through all there is took up to a quarter of a second."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def greeting(settings: Settings, port: int) -> str:
    """The address, unless who starts a run beside it tells that; and the token unless it was given
    from outside."""
    lines = [] if settings.awaits_since else [f"Dashboard: {settings.address_at(port)}"]
    if settings.why_no_control:
        lines.append(settings.why_no_control)
    if os.environ.get(VARIABLE):
        lines.append(f"Token: the one in {VARIABLE}")
    elif not settings.loopback or not settings.why_no_control:
        use = "to change things from scripts" if settings.loopback else "to log in"
        lines.append(f"Token {use}: {settings.token}")
    if settings.viewer_token:
        lines.append(f"Token to look on only: the one in {VIEWER_VARIABLE}")
    return "\n".join(lines)


def _cannot_listen(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "The port is taken. Name another with --port."
    return f"The dashboard cannot listen there: {error.strerror or error}."
