"""A small reverse proxy, as people put before a dashboard: another host, a path prefix."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_OF_ONE_CONNECTION: Final = ("connection", "keep-alive", "transfer-encoding")


@dataclass
class Proxy:
    """How a proxy asks the dashboard at ``port``.

    host: Host header it sends; '' = that of the browser. prefix: all it passes on is below it.
    strips: takes the prefix off. adds: further headers. hides: a header of reading requests that
    it leaves out, as some browsers do. refuses: begins of paths it does not pass on. own_port:
    where it listens. strays: what was asked for outside of the prefix.
    """

    port: int
    host: str = ""
    prefix: str = ""
    strips: bool = False
    adds: Mapping[str, str] = field(default_factory=dict)
    hides: str = ""
    refuses: Sequence[str] = ()
    own_port: int = 0
    strays: list[str] = field(default_factory=list)

    def headers(self, method: str, given: Mapping[str, str]) -> dict[str, str]:
        """Those of a request, as the dashboard gets them."""
        gone = (*_OF_ONE_CONNECTION, *([self.hides] if method == "GET" else []))
        kept = {k: v for k, v in given.items() if k.lower() not in gone}
        return kept | ({"Host": self.host} if self.host else {}) | dict(self.adds)

    def path(self, asked: str) -> str | None:
        """Of a request, as the dashboard gets it; None: it does not."""
        inner = asked.removeprefix(self.prefix)
        if not f"{asked}/".startswith(f"{self.prefix}/"):
            self.strays.append(asked)
            return None
        if any(inner.startswith(begin) for begin in self.refuses):
            return None
        return (inner if self.strips else asked) or "/"


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy

    def _pass_on(self) -> None:
        path = self.proxy.path(self.path)
        if path is None:
            return self.send_error(404)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        there = HTTPConnection("127.0.0.1", self.proxy.port)
        try:
            headers = self.proxy.headers(self.command, dict(self.headers.items()))
            there.request(self.command, path, body or None, headers)
            answer = there.getresponse()
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in _OF_ONE_CONNECTION:
                    self.send_header(name, value)
            self.end_headers()
            while part := answer.read1():
                self.wfile.write(part)
                self.wfile.flush()
        except OSError:  # the browser left, or the dashboard stopped
            self.close_connection = True
        finally:
            there.close()
        return None

    do_GET = do_POST = do_DELETE = do_OPTIONS = _pass_on

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64


@contextmanager
def running(proxy: Proxy) -> Iterator[Proxy]:
    """The proxy at work."""
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    with _Server(("127.0.0.1", 0), handler) as server:
        proxy.own_port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield proxy
        server.shutdown()
