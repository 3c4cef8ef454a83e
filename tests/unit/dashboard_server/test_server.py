"""The real thing: waitress, a socket, server-sent events, and a clean stop."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from dashboard.serving.settings import Settings
from dashboard.web import server as dashboard_server
from dashboard.web.cli import main
from dashboard.web.server import Server
from storage.store import open_engine_writer
from tests.unit.dashboard_server.site import TOKEN
from tests.web.recorded import Recording
from tests.web.site import serving

PATIENCE_S = 20.0


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    with open_engine_writer(str(tmp_path / "runs.db")) as writer:
        recording = Recording(writer, "r1", time.time())
        recording.begin()
        recording.write(time.time())
        yield recording


def drip(server: Server, begin: bytes) -> socket.socket:
    """A connection that has begun to ask for something."""
    slow = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    slow.sendall(begin)
    return slow


def drip_on(slow: socket.socket) -> bool:
    """Send one more byte; whether the connection was still there."""
    try:
        slow.sendall(b"x")
        slow.settimeout(0.001)
        return slow.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def connect(server: Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)


def get(server: Server, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = connect(server)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


@contextmanager
def streaming(server: Server, since: str = "") -> Iterator[http.client.HTTPResponse]:
    connection = connect(server)
    connection.request("GET", f"/live?run=r1{since}")
    answer = connection.getresponse()
    try:
        yield answer
    finally:
        answer.close()
        connection.close()


def next_delta(answer: http.client.HTTPResponse) -> Any:
    while line := answer.readline():
        if line.startswith(b"data: "):
            return json.loads(line[6:])
    return None


def test_a_batch_reaches_the_stream(recording: Recording, tmp_path: Path) -> None:
    with serving(Settings(str(tmp_path / "runs.db"), TOKEN, port=0)) as server:
        with streaming(server) as answer:
            assert answer.status == 200
            assert answer.getheader("Content-Type", "").startswith("text/event-stream")
            assert next_delta(answer)["b"] == 0
            recording.write(time.time())
            delta = next_delta(answer)
            assert delta["b"] == 1
            assert server.services.live.n_clients == 1
        deadline = time.monotonic() + PATIENCE_S
        while server.services.live.n_clients and time.monotonic() < deadline:
            recording.write(time.time())
            time.sleep(0.05)
        assert server.services.live.n_clients == 0


def test_a_compressed_stream_hands_each_batch_on_at_once(
    recording: Recording, tmp_path: Path
) -> None:
    with serving(Settings(str(tmp_path / "runs.db"), TOKEN, port=0)) as server:
        connection = connect(server)
        connection.request("GET", "/live?run=r1", headers={"Accept-Encoding": "gzip"})
        with connection.getresponse() as answer, closing(connection):
            assert answer.getheader("Content-Encoding") == "gzip"
            unpacker, told, sizes = zlib.decompressobj(zlib.MAX_WBITS | 16), b"", list[int]()
            for batch in range(4):
                while told.count(b"event: delta") <= batch:
                    packed = answer.read1(65536)
                    told += unpacker.decompress(packed)
                sizes.append(len(packed))
                recording.write(time.time())
            events = [json.loads(line[6:]) for line in told.splitlines() if line[:5] == b"data:"]
            assert [event["b"] for event in events] == [0, 1, 2, 3]
            assert max(sizes[1:]) < len(json.dumps(events[-1])) / 2


def test_streams_beyond_the_cap_are_sent_to_polling(recording: Recording, tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "runs.db"), TOKEN, port=0, max_streams=1)
    with serving(settings) as server, streaming(server) as answer:
        assert next_delta(answer)["b"] == 0
        status, headers, body = get(server, "/live?run=r1")
        assert (status, headers["Retry-After"]) == (503, "5")
        assert json.loads(body)["error"]["code"] == "too_many_streams"
        (delta,) = json.loads(get(server, "/live/poll?run=r1")[2])
        assert delta["b"] == 0


def test_the_server_stops_at_once_with_streams_open(recording: Recording, tmp_path: Path) -> None:
    server = Server(Settings(str(tmp_path / "runs.db"), TOKEN, port=0))
    thread = threading.Thread(target=server.run)
    thread.start()
    with streaming(server) as answer:
        assert next_delta(answer)["b"] == 0
        begun = time.monotonic()
        server.stop()
        thread.join(PATIENCE_S)
        assert time.monotonic() - begun < 5  # under 2 s on a quiet machine
        assert not thread.is_alive()
        assert next_delta(answer) is None


def test_a_server_that_is_stopping_by_itself_can_be_stopped(
    recording: Recording, tmp_path: Path
) -> None:
    """Whoever stops it may come when its loop has seen the wish and closed all sockets."""
    server = Server(Settings(str(tmp_path / "runs.db"), TOKEN, port=0))
    thread = threading.Thread(target=server.run)
    thread.start()
    waiting = tuple(server._sockets.values())
    server.stop()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    server._sockets.update({n: one for n, one in enumerate(waiting)})
    server.stop()


def test_the_own_files_arrive_over_the_socket(recording: Recording, tmp_path: Path) -> None:
    with serving(Settings(str(tmp_path / "runs.db"), TOKEN, port=0)) as server:
        status, headers, body = get(server, "/")
        assert status == 200
        assert b'<html lang="en">' in body
        assert headers.get("Server") is None
        assert get(server, "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--store", "{}/none.db", "--replay"], "there is no store at"),
        (["--store", "{}/note.txt"], "is not a Planwatch store"),
        (["--store", "ftp://x/y"], "is not supported"),
        (["--store", "{}/runs.db", "--port", "{port}"], "The port is taken."),
        (["--store", "{}/runs.db", "--host", "192.0.2.1"], "cannot listen there"),
    ],
)
def test_what_cannot_be_started_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    (tmp_path / "note.txt").write_text("this is not a database, but it is long enough for one" * 9)
    with open_engine_writer(str(tmp_path / "other.db")):
        pass
    with serving(Settings(str(tmp_path / "other.db"), TOKEN, port=0)) as server:
        filled = [word.replace("{port}", str(server.port)) for word in words]
        assert main([word.replace("{}", str(tmp_path)) for word in filled]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_a_short_token_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANWATCH_TOKEN", "short")
    assert main(["--store", str(tmp_path / "runs.db")]) == 2
    assert "at least 8" in capsys.readouterr().err


def test_connections_that_ask_for_nothing_neither_keep_others_out_nor_stay(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard_server, "IDLE_S", 1)
    settings = Settings(f"sqlite:///{tmp_path}/runs.db", TOKEN, port=0)
    with serving(settings) as server, ExitStack() as opened:
        half_open = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE_S))
            for _ in range(150)
        ]
        for one in half_open:
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert get(server, "/healthz")[0] == 200
        with streaming(server) as answer:
            assert next_delta(answer) is not None
            assert all(one.recv(1) == b"" for one in half_open)
            recording.write(time.time())
            assert next_delta(answer) is not None


def test_requests_that_drip_are_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recording: Recording
) -> None:
    """Neither headers nor a body may take longer than a connection may be idle."""
    monkeypatch.setattr(dashboard_server, "IDLE_S", 2)
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
    body = b"POST /api/v1/parquet HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n"
    settings = Settings(str(tmp_path / "runs.db"), TOKEN, port=0)
    with serving(settings) as server, ExitStack() as stack, closing(connect(server)) as quick:
        begun = time.monotonic()
        left = [stack.enter_context(drip(server, begin)) for begin in (head, body) * 20]
        while left and time.monotonic() - begun < PATIENCE_S:
            left = [slow for slow in left if drip_on(slow)]
            quick.request("GET", "/healthz")
            assert quick.getresponse().read()
            time.sleep(0.2)
        assert left == []
        assert time.monotonic() - begun > 1.5


CHUNK = b"5\r\nhello\r\n0\r\n\r\n"
NEXT = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    ("version", "framing", "why"),
    [
        (b"1.1", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"exclude each other"),
        (b"1.1", b"transfer-encoding: chunked\r\ncontent-length: 15\r\n", b"exclude each other"),
        (b"1.1", b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", b"exclude each other"),
        (b"1.0", b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", b"needs HTTP/1.1"),
        (
            b"1.0",
            b"Connection: keep-alive\r\nContent-Length: 15\r\nTransfer-Encoding: chunked\r\n",
            b"needs HTTP/1.1",
        ),
    ],
)
def test_a_request_of_two_lengths_is_refused_and_ends_its_connection(
    tmp_path: Path, version: bytes, framing: bytes, why: bytes
) -> None:
    """What follows it on the connection is not taken for a request."""
    first = b"POST /api/v1/runs/r1/step HTTP/" + version + b"\r\nHost: localhost\r\n"
    with (
        serving(Settings(str(tmp_path / "runs.db"), TOKEN, port=0)) as server,
        drip(server, first + framing + b"\r\n" + CHUNK + NEXT) as asking,
    ):
        told = b"".join(iter(lambda: asking.recv(65536), b""))
    assert told.startswith(b"HTTP/" + version + b" 400 ")
    assert why in told
    assert b" 200 OK" not in told


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says how much there is")
def test_memory_of_large_answers_is_given_back(tmp_path: Path, recording: Recording) -> None:
    """Twelve answers of 16 MB, some side by side."""
    blobs = "SELECT value, randomblob(2000) FROM generate LIMIT 4000"
    numbers = (
        "WITH RECURSIVE generate(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM generate)"
    )
    path = f"/api/v1/sql?{urlencode({'text': f'{numbers} {blobs}'})}"
    with serving(Settings(str(tmp_path / "runs.db"), TOKEN, port=0)) as server:
        assert len(get(server, path)[2]) > 15e6
        before = resident_mb()
        with ThreadPoolExecutor(2) as pool:
            sizes = [len(answer[2]) for answer in pool.map(get, [server] * 12, [path] * 12)]
        assert sum(size > 15e6 for size in sizes) > 6  # a busy machine may break some off
        time.sleep(0.5)
        assert resident_mb() - before < 120


def resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
