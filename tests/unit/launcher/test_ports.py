"""Which port is served on."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from backend.launch import ports
from backend.launch.ports import PortRefused, choose_port

HOST = "127.0.0.1"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port somebody listens on."""
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        yield other.getsockname()[1]


def test_the_port_asked_for() -> None:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        free = probe.getsockname()[1]
    assert choose_port(HOST, free) == free


def test_a_taken_port_that_was_asked_for_is_refused(taken: int) -> None:
    with pytest.raises(PortRefused, match=rf"Port {taken} is taken. Name another with --port"):
        choose_port(HOST, taken)


def test_nobody_asked_so_the_next_free_one_with_a_note(
    taken: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ports, "DEFAULT_PORT", taken)
    chosen = choose_port(HOST, None)
    assert chosen > taken
    assert capsys.readouterr().out == f"Port {taken} is taken; using {chosen}.\n"


def test_nothing_free_at_all(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "DEFAULT_PORT", taken)
    monkeypatch.setattr(ports, "PORTS_TRIED", 1)
    with pytest.raises(PortRefused, match="are all taken"):
        choose_port(HOST, None)


def test_zero_is_any_port() -> None:
    assert choose_port(HOST, 0) > 0


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_host_that_is_not_ours(host: str) -> None:
    with pytest.raises(PortRefused, match="Cannot listen on"):
        choose_port(host, 0)
