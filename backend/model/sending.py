"""What operators say of themselves for their way to the workers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from backend.model.functions import Functions


class SentOnce:
    """An object that is large and never changes: workers get it once, whatever changes around it in
    the jobs it is part of."""

    __slots__ = ()


@runtime_checkable
class CallsFunctions(Protocol):
    """An operator, or a job, that calls functions of a workload's own module."""

    @property
    def functions(self) -> Functions:
        """Those it calls, with the tables they look into."""
