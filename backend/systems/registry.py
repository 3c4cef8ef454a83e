"""The systems: one paper's way of adapting a part of a run each."""

from typing import Final

from backend.systems.agreedy.system import SYSTEM as AGREEDY
from backend.systems.asc.system import SYSTEM as ASC
from backend.systems.contract import System
from backend.systems.stream.system import SYSTEM as STREAM

#: Asked in this order who can run a query.
SYSTEMS: Final[tuple[System, ...]] = (ASC, AGREEDY, STREAM)

__all__ = ["AGREEDY", "ASC", "STREAM", "SYSTEMS"]
