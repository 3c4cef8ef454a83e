"""What the state of a network may take, and what happens when it takes more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from backend.systems.contract import Refused


@dataclass(frozen=True, slots=True)
class StateLimit:
    """limit_bytes: 0 for none. used_bytes: by all operators and stores after the last batch; None
    when that is not known, because queries have gone since."""

    limit_bytes: int = 0
    used_bytes: int | None = None

    def using(self, used_bytes: int | None) -> StateLimit:
        """After a batch; None: after queries have gone."""
        return replace(self, used_bytes=used_bytes)

    def check_new(self, queries: Iterable[str]) -> None:
        """Raises Refused for queries that come where there is no room."""
        used = self.used_bytes or 0
        for name in queries if self.limit_bytes and used >= self.limit_bytes else ():
            raise Refused(
                f"query {name!r} is refused: the state of the network takes {used} bytes, and "
                f"state_limit_bytes allows {self.limit_bytes}; raise it, or remove a query"
            )

    @property
    def excess(self) -> str:
        """Why no batch may begin, '' while there is room."""
        used = self.used_bytes or 0
        if not self.limit_bytes or used <= self.limit_bytes:
            return ""
        return (
            f"because the state of the network takes {used} bytes, and state_limit_bytes allows "
            f"{self.limit_bytes}: raise it, remove or pause a query, or run one more batch"
        )
