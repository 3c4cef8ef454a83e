"""Ports to serve on. Standard library only."""

from __future__ import annotations

import errno
import socket
from typing import Final

DEFAULT_PORT: Final = 8050
#: How many ports, the default one among them, are tried when nobody asked for a certain one.
PORTS_TRIED: Final = 50


class PortRefused(Exception):
    """Nothing can listen where it was asked; the message says what to do."""


def choose_port(host: str, wanted: int | None) -> int:
    """The port to serve on: the wanted one, any for 0; for None the default or the next free one.

    A port other than the default is said. Raises PortRefused when the wanted one is taken or may
    not be used.
    """
    first = DEFAULT_PORT if wanted is None else wanted
    try:
        bound = bound_port(host, first)
        if bound is not None:
            return bound
        if wanted is not None:
            raise PortRefused(
                f"Port {wanted} is taken. Name another with --port, or none to get the next free."
            )
        for port in range(first + 1, first + PORTS_TRIED):
            if bound_port(host, port) is not None:
                print(f"Port {first} is taken; using {port}.", flush=True)
                return port
    except OSError as error:
        raise PortRefused(
            f"Cannot listen on {host} port {first}: {error.strerror or error}. "
            "Name others with --host and --port."
        ) from error
    raise PortRefused(
        f"Ports {first} to {first + PORTS_TRIED - 1} are all taken. Name another with --port."
    )


def bound_port(host: str, port: int) -> int | None:
    """The port a server could listen on there now (any free one for 0), None when it is taken.

    Raises OSError when the host is not this machine's or the port is not ours to use.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return None
            raise
        return int(probe.getsockname()[1])
