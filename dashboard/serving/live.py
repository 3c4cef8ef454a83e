"""Live updates: one poller thread a process reads the store, bounded queues fan its deltas out.

N tabs cost one read. A slow client loses deltas, never blocks anybody, and gets a snapshot with
``gap`` instead. Without clients the poller looks once a second.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from dashboard.serving.deltas import Delta, Known, build, encoded, merged, snapshot
from dashboard.serving.pacing import Cadence
from storage.errors import StoreError
from storage.reader import Reader
from storage.tables.rows import Change, Cursor

LOGGER = logging.getLogger(__name__)
HEARTBEAT_S: Final = 10.0
INTEREST_S: Final = 15.0
RETRY_AFTER_S: Final = 5
#: A browser has six connections to a server for all its tabs; those that stream leave two.
STREAMS_OF_BROWSER: Final = 4
_PERIODS_S: Final = {"streamed": 0.05, "polled": 0.1, "idle": 1.0, "failing": 1.0}
_QUEUE_LENGTH: Final = 64
_RING_LENGTH: Final = 240


class HubFull(Exception):
    """There are as many streams as allowed; the client should poll."""


class UnknownRunError(Exception):
    """The store has no run of this name."""


class Client:
    """One stream: a bounded queue of the deltas of one run, filled by the poller. browser: the
    session it belongs to, '' without one. name: of who looks on, '' = not given."""

    def __init__(self, run_id: str, browser: str = "", name: str = "") -> None:
        self.run_id, self.browser, self.name = run_id, browser, name
        self._queue: deque[Delta] = deque()
        self._ready = threading.Condition()
        self._closed = self._gap = False
        self._has_met = False

    def meet(self) -> None:
        """Somebody else is there, has come or gone."""
        with self._ready:
            self._has_met = True
            self._ready.notify()

    def has_met(self) -> bool:
        """Whether that is news."""
        with self._ready:
            is_news, self._has_met = self._has_met, False
        return is_news

    def put(self, delta: Delta) -> None:
        """Add a delta; the oldest goes, and leaves a gap, when there are too many."""
        with self._ready:
            if len(self._queue) >= _QUEUE_LENGTH:
                self._queue.popleft()
                self._gap = True
            self._queue.append(delta)
            self._ready.notify()

    def take(self, timeout_s: float) -> tuple[Delta | None, bool]:
        """What waits, as one delta (None after timeout_s), and whether some were lost."""
        with self._ready:
            self._ready.wait_for(
                lambda: bool(self._queue) or self._closed or self._has_met, timeout_s
            )
            deltas, gap = list(self._queue), self._gap
            self._queue.clear()
            self._gap = False
        return (merged(deltas) if deltas else None), gap

    @property
    def closed(self) -> bool:
        """Whether the server is stopping."""
        return self._closed

    def close(self) -> None:
        """Wake and end the stream."""
        with self._ready:
            self._closed = True
            self._ready.notify()


@dataclass(slots=True)
class Feed:
    """The deltas of one run somebody looks at: clients, and a ring for those who poll.

    base: cursor up to which deltas are not in the ring. asked_at: last poll (monotonic s).
    """

    known: Known
    base: int
    clients: set[Client] = field(default_factory=set)
    ring: deque[Delta] = field(default_factory=deque)
    asked_at: float = 0.0

    def meet(self) -> None:
        """Tell all clients that somebody has come or gone."""
        for client in self.clients:
            client.meet()

    def push(self, delta: Delta) -> None:
        """Keep a delta and hand it to all clients."""
        self.ring.append(delta)
        while len(self.ring) > _RING_LENGTH:
            self.base = self.ring.popleft()["c"]
        for client in self.clients:
            client.put(delta)


class Hub:
    """Polls the store and hands deltas out. Thread-safe. start() once, stop() at the end."""

    def __init__(self, reader: Reader, max_clients: int = 24) -> None:
        self._reader, self.max_clients = reader, max_clients
        self._lock = threading.RLock()
        self._feeds: dict[str, Feed] = {}
        self._cursor: Cursor | None = None
        self._n_clients = 0
        self._failure = ""
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.poll_ms = 0.0
        self.polls_total = 0

    @property
    def n_clients(self) -> int:
        """Open streams now."""
        return self._n_clients

    def start(self) -> None:
        """Start the poller thread."""
        self._thread = threading.Thread(target=self._run, name="planwatch-poller", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End all streams and the poller."""
        self._stopping.set()
        self._wake.set()
        with self._lock:
            for feed in self._feeds.values():
                for client in feed.clients:
                    client.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=2)

    def nudge(self) -> None:
        """Look at the store at once: this process has just written to it."""
        self._wake.set()

    def join(
        self, run_id: str, since: int | None = None, browser: str = "", name: str = ""
    ) -> tuple[Client, Delta | None]:
        """A new client of a run, and its first delta: what came after ``since``, or a snapshot.
        Who else looks at the run is told of it.

        Raises HubFull, UnknownRunError, StoreError.
        """
        client = Client(run_id, browser, name)
        with self._lock:
            is_full = self._n_clients >= self.max_clients or self._stopping.is_set()
            if is_full or (browser and self._n_of(browser) >= STREAMS_OF_BROWSER):
                raise HubFull
            feed = self._feed(run_id)
            first = self._since(run_id, feed, since)
            feed.meet()
            if feed.clients:
                client.meet()
            feed.clients.add(client)
            self._n_clients += 1
        self._wake.set()
        return client, first

    def others(self, client: Client) -> list[str]:
        """Who else looks at the run, by name, '' of one who gave none: each browser once."""
        with self._lock:
            feed = self._feeds.get(client.run_id)
            clients = [] if feed is None else list(feed.clients)
        names = {other.browser or id(other): other.name for other in clients if other is not client}
        names.pop(client.browser, None)
        return sorted(names.values())

    def _n_of(self, browser: str) -> int:
        """The open streams of a browser (lock held)."""
        clients = (client for feed in self._feeds.values() for client in feed.clients)
        return sum(client.browser == browser for client in clients)

    def leave(self, client: Client) -> None:
        """Forget a client; more than once does no harm."""
        client.close()
        with self._lock:
            feed = self._feeds.get(client.run_id)
            if feed is not None and client in feed.clients:
                feed.clients.remove(client)
                feed.asked_at = time.monotonic()
                self._n_clients -= 1
                feed.meet()

    def since(self, run_id: str, cursor: int | None) -> list[Delta]:
        """What happened to a run after a cursor, as at most one delta; None: a snapshot.

        Raises UnknownRunError, StoreError.
        """
        with self._lock:
            feed = self._feed(run_id)
            feed.asked_at = time.monotonic()
            delta = self._since(run_id, feed, cursor)
        self._wake.set()
        return [] if delta is None else [delta]

    def stream(self, client: Client, first: Delta | None) -> Iterator[bytes]:
        """Server-sent events of a client until it leaves or the hub stops."""
        yield b"retry: 2000\n\n"
        if first is not None:
            yield _event(first)
        while not client.closed:
            delta, gap = client.take(HEARTBEAT_S)
            if client.has_met():
                yield f"event: present\ndata: {json.dumps(self.others(client))}\n\n".encode()
            if gap:
                yield _event(self._snapshot(client.run_id, gap=True)[0])
            elif delta is not None:
                yield _event(delta)
            elif not client.closed:
                yield b": still here\n\n"

    def _since(self, run_id: str, feed: Feed, cursor: int | None) -> Delta | None:
        """Deltas after a cursor as one; a snapshot with a gap when some are no longer kept."""
        if cursor is None:
            return self._snapshot(run_id)[0]
        if not feed.base <= cursor <= sum(self._cursor or ()):
            return self._snapshot(run_id, gap=True)[0]
        deltas = [delta for delta in feed.ring if delta["c"] > cursor]
        return merged(deltas) if deltas else None

    def _feed(self, run_id: str) -> Feed:
        """The run's feed, made when there is none (lock held)."""
        feed = self._feeds.get(run_id)
        if feed is None:
            now, known = self._snapshot(run_id)
            feed = self._feeds[run_id] = Feed(known, now["c"], asked_at=time.monotonic())
        return feed

    def _snapshot(self, run_id: str, *, gap: bool = False) -> tuple[Delta, Known]:
        run = self._reader.run(run_id)
        if run is None:
            raise UnknownRunError(run_id)
        with self._lock:
            self._cursor = self._cursor or self._reader.cursor()
            return snapshot(self._reader, run, sum(self._cursor), gap=gap)

    def _run(self) -> None:
        cadence, hurried = Cadence(), True
        while not self._stopping.is_set():
            started = time.perf_counter()
            try:
                self.tick(cadence, hurried)
            except StoreError as error:
                if not self._failure:
                    LOGGER.warning("The store cannot be read: %s", error)
                self._failure = str(error)
            except Exception:
                LOGGER.exception("The live poller continues after an error")
            self.poll_ms = 1000 * (time.perf_counter() - started)
            hurried = self._wake.wait(self._period_s())
            self._wake.clear()

    def _period_s(self) -> float:
        if self._failure:
            return _PERIODS_S["failing"]
        if self._n_clients:
            return _PERIODS_S["streamed"]
        return _PERIODS_S["polled" if self._feeds else "idle"]

    def tick(self, cadence: Cadence | None = None, hurried: bool = False) -> None:
        """Look at the store once and publish what changed, unless ``cadence`` keeps it for later.

        Raises StoreError."""
        self.polls_total += 1
        cursor = self._reader.cursor()
        self._failure = ""
        with self._lock:
            self._forget_unwatched()
            if self._cursor is None or not self._feeds:
                self._cursor = cursor
            elif cursor != self._cursor and (
                cadence is None or cadence.is_due(cursor, time.monotonic(), hurried)
            ):
                changes = self._reader.changes(self._cursor)
                self._cursor = _advanced(self._cursor, changes, cursor)
                self._publish(changes, sum(self._cursor))

    def _publish(self, changes: Sequence[Change], cursor: int) -> None:
        by_run: defaultdict[str, list[Change]] = defaultdict(list)
        for change in changes:
            by_run[change.run_id].append(change)
        for run_id, own in by_run.items():
            feed = self._feeds.get(run_id)
            run = self._reader.run(run_id) if feed is not None else None
            if feed is not None and run is not None:
                delta, feed.known = build(self._reader, run, cursor, feed.known, own)
                feed.push(delta)

    def _forget_unwatched(self) -> None:
        oldest = time.monotonic() - INTEREST_S
        gone = [name for name, f in self._feeds.items() if not f.clients and f.asked_at < oldest]
        for name in gone:
            del self._feeds[name]


def _advanced(last: Cursor, changes: Sequence[Change], newest: Cursor) -> Cursor:
    """The cursor after these changes; ``newest`` when the store was replaced by a shorter one."""
    if newest.commit < last.commit or newest.command < last.command:
        return newest
    commits = [change.id for change in changes if change.kind != "command"]
    commands = [change.id for change in changes if change.kind == "command"]
    return Cursor(max(commits, default=last.commit), max(commands, default=last.command))


def _event(delta: Delta) -> bytes:
    return f"id: {delta['c']}\nevent: delta\ndata: {encoded(delta)}\n\n".encode()
