"""Gzip for what is worth it, kept for files that never change, and cache headers."""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from flask import Flask, Request, Response, request

from dashboard.serving.bundle import PREFIX

_TYPES = ("text/", "application/javascript", "application/json", "image/svg+xml")
EVENTS = "text/event-stream"
_SMALLEST_BYTES = 500
_KEPT_BYTES = 16 * 1024 * 1024
#: After a larger answer memory is handed back.
_LARGE_BYTES = 1024 * 1024
_FILE_LEVEL = 6
_ANSWER_LEVEL = 6
FOREVER = "max-age=31536000, immutable"
#: What a server answers as long as it runs: the frame of all pages, and which callbacks there are.
_SAME_PATHS = ("/_dash-layout", "/_dash-dependencies")


class GzipCache:
    """Compressed bodies of files whose address changes with their content, least recent first."""

    def __init__(self, n_bytes: int = _KEPT_BYTES) -> None:
        self._limit_bytes, self._n_bytes = n_bytes, 0
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, body: bytes) -> bytes:
        """The body, compressed now or on an earlier call with the same key."""
        with self._lock:
            kept = self._bodies.get(key)
            if kept is not None:
                self._bodies.move_to_end(key)
                return kept
        packed = gzip.compress(body, _FILE_LEVEL, mtime=0)
        with self._lock:
            if key not in self._bodies:
                self._bodies[key] = packed
                self._n_bytes += len(packed)
            while self._n_bytes > self._limit_bytes and self._bodies:
                self._n_bytes -= len(self._bodies.popitem(last=False)[1])
        return packed


def give_back() -> None:
    """Hand memory that is free back to the system: each thread keeps its own pieces otherwise."""
    with contextlib.suppress(OSError, AttributeError):  # of the C library of Linux alone
        ctypes.CDLL(None).malloc_trim(0)


def install(server: Flask, shared_cache: bool) -> None:
    """Compress responses and set their cache headers. shared_cache: no login guards the files."""
    cache = GzipCache()

    @server.after_request
    def _finish(response: Response) -> Response:
        if (response.content_length or 0) > _LARGE_BYTES:
            response.call_on_close(give_back)
        lasting = _never_changes(request) and response.status_code == 200
        _set_cache_control(response, lasting, shared_cache)
        if request.path in _SAME_PATHS and response.status_code == 200:
            response.add_etag()
            response.make_conditional(request)
        if _is_worth_it(request, response):
            if response.mimetype == EVENTS:
                _compress_stream(response)
            else:
                _compress(response, cache if lasting else None)
        return response


def _never_changes(asked: Request) -> bool:
    """Dash puts a fingerprint into the name of component files, a time into that of assets; the
    address of our own scripts has their version."""
    if asked.path.startswith(PREFIX):
        return True
    if asked.path.startswith("/_dash-component-suites/"):
        file = asked.path.rpartition("/")[2].split(".")
        return len(file) > 2 and file[1].startswith("v") and "m" in file[1]
    return asked.path.startswith("/assets/") and "m" in asked.args


def _set_cache_control(response: Response, lasting: bool, shared: bool) -> None:
    if lasting:
        response.headers["Cache-Control"] = ("public, " if shared else "private, ") + FOREVER
    elif request.path.startswith("/assets/"):
        response.headers["Cache-Control"] = "no-cache"
    elif request.path in _SAME_PATHS:
        response.headers["Cache-Control"] = "private, no-cache"
    else:
        response.headers.setdefault("Cache-Control", "no-store")


def _is_worth_it(asked: Request, response: Response) -> bool:
    if response.status_code != 200 or "Content-Encoding" in response.headers:
        return False
    kind = response.mimetype or ""
    if not kind.startswith(_TYPES):
        return False
    response.vary.add("Accept-Encoding")
    length = response.content_length
    if asked.method != "GET" and asked.method != "POST":
        return False
    return asked.accept_encodings["gzip"] > 0 and (length is None or length >= _SMALLEST_BYTES)


def _compress(response: Response, cache: GzipCache | None) -> None:
    response.direct_passthrough = False
    body = response.get_data()
    if cache is None:
        packed = gzip.compress(body, _ANSWER_LEVEL, mtime=0)
    else:
        packed = cache.get(request.full_path, body)
    response.set_data(packed)
    response.headers["Content-Encoding"] = "gzip"
    etag, _ = response.get_etag()
    if etag is not None:
        response.set_etag(etag, weak=True)


def _compress_stream(response: Response) -> None:
    response.response = flushed(response.iter_encoded())
    response.headers["Content-Encoding"] = "gzip"


def flushed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Each part compressed by what came before it, and handed on at once."""
    packer = zlib.compressobj(_ANSWER_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    for part in parts:
        yield packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()
