"""Addresses people open the dashboard at: host names, with or without a port, and a path prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import Final, NamedTuple
from urllib.parse import unquote

_HOST: Final = re.compile(
    r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[\w.-]*\w)?)\.?)(?::(\d{0,5}))?", re.A
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_HIGHEST_PORT: Final = 65535
_LONGEST: Final = 260
#: What the dashboard itself answers at: with such a prefix nobody could tell the two apart.
_OWN_PATHS: Final = frozenset(["api", "assets", "healthz", "live", "login", "metrics", "scripts"])


class AddressRefused(ValueError):
    """A host name or a prefix that is none; the message says what one is."""


class Host(NamedTuple):
    """name: in lower case, an IPv6 address in its short form without brackets. port: None = not
    said."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port is None else f"{name}:{self.port}"


class Origin(NamedTuple):
    """Where a page is from. host: its port is always known."""

    scheme: str
    host: Host

    def __str__(self) -> str:
        return f"{self.scheme}://{self.shown}"

    @property
    def shown(self) -> Host:
        """The host as people see it in the address: without the port that the scheme implies."""
        implied = self.host.port == _DEFAULT_PORTS[self.scheme]
        return Host(self.host.name) if implied else self.host

    def is_at(self, host: Host) -> bool:
        """Whether it is this host; one without a port is at the scheme's."""
        return self.host == Host(host.name, host.port or _DEFAULT_PORTS[self.scheme])

    def is_among(self, allowed: Iterable[Host]) -> bool:
        """Whether one of these hosts is meant; one without a port is meant at any."""
        own, port = self.host
        return any(host.name == own and host.port in (None, port) for host in allowed)


def read_host(text: str) -> Host | None:
    """The host of a Host header, or as people type it ('Dash.Example.com', '[::1]:8050', '::1');
    None where it is none."""
    try:
        return Host(str(IPv6Address(text.strip())))
    except ValueError:
        pass
    try:
        typed = text.strip().lower()
        plain = typed if typed.isascii() else typed.encode("idna").decode()
        parts = _HOST.fullmatch(plain) if len(plain) <= _LONGEST else None
        if parts is None:
            return None
        name = str(IPv6Address(parts[1])) if parts[1] else parts[2]
    except ValueError:
        return None
    port = int(parts[3]) if parts[3] else None
    return Host(name, port) if port is None or 0 < port <= _HIGHEST_PORT else None


def read_origin(text: str) -> Origin | None:
    """The origin of an Origin header; None where it is none of a page of the web ('null')."""
    scheme, _, rest = text.strip().lower().partition("://")
    host = read_host(rest)
    if scheme not in _DEFAULT_PORTS or host is None:
        return None
    return Origin(scheme, host._replace(port=host.port or _DEFAULT_PORTS[scheme]))


def check_host_names(names: Iterable[str]) -> tuple[Host, ...]:
    """The hosts of the option --allow-host. Raises AddressRefused."""
    hosts = []
    for name in names:
        host = read_host(name)
        if host is None:
            raise AddressRefused(
                f"--allow-host {name!r} is no host name; as in the browser's address, without "
                "http:// and path: dash.example.com, or dash.example.com:8443 for that port alone"
            )
        hosts.append(host)
    return tuple(hosts)


def check_prefix(text: str, own: Iterable[str] = ()) -> str:
    """The path of the option --prefix, decoded: '' or '/pw', without a slash at its end. own: first
    parts of paths that the dashboard has. Raises AddressRefused."""
    parts = [unquote(part) for part in text.strip().split("/") if part]
    prefix = "".join(f"/{part}" for part in parts)
    odd = any(part in (".", "..") or re.search(r"[/\\?#\x00-\x1f\x7f]", part) for part in parts)
    if odd or "?" in text or "#" in text or "://" in text:
        raise AddressRefused(
            f"--prefix {text!r} is no path; it is what stands between the host and the "
            "dashboard's own paths, such as /pw or /user/me/proxy/8050"
        )
    if parts and parts[0] in {*_OWN_PATHS, *own}:
        raise AddressRefused(
            f"--prefix {text!r} begins as paths of the dashboard do; take another, such as /pw"
        )
    return prefix
