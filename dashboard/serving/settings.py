"""What the dashboard process was told at its start."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from dashboard.base.prefix import quoted

SESSION_SECONDS = 30 * 24 * 3600


def is_loopback(host: str) -> bool:
    """Whether a bind address or host name reaches this machine only."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Settings:
    """Frozen settings of one dashboard process.

    store_url: SQLAlchemy URL of the store. token: the bearer token (never shown by repr).
    viewer_token: the one that reads and changes nothing, '' = there is none.
    allow_control: whether knobs and queries may be changed at all. replay: the store is a finished
    recording, opened read-only. allowed_hosts: where else people open it, through a proxy ('name'
    or 'name:port'). prefix: path that the proxy puts before the dashboard's own, '' or '/pw'.
    webhook: address that alert rules are posted to, '' = none. awaits_since: when the start of a
    run beside this process was asked for, Unix s; None: it was not. max_streams: cap of live
    streams, the rest polls. threads: of waitress.
    """

    store_url: str
    token: str = field(repr=False)
    viewer_token: str = field(default="", repr=False)
    host: str = "127.0.0.1"
    port: int = 8050
    allow_control: bool = True
    replay: bool = False
    allowed_hosts: tuple[str, ...] = ()
    prefix: str = ""
    webhook: str = ""
    awaits_since: float | None = None
    max_streams: int = 24
    threads: int = 32

    @property
    def loopback(self) -> bool:
        """Whether the server is bound to this machine only; then reading needs no token."""
        return is_loopback(self.host)

    def address_at(self, port: int) -> str:
        """The address to open in a browser."""
        wild = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
        host = wild.get(self.host, f"[{self.host}]" if ":" in self.host else self.host)
        return f"http://{host}:{port}{quoted(self.prefix)}/"

    @property
    def why_no_control(self) -> str:
        """Why no knob can be turned from here; '' when they can."""
        if self.replay:
            return "This is a recording, opened read-only: nothing can be changed."
        if not self.allow_control:
            return "The dashboard was started read-only: nothing can be changed from here."
        return ""
