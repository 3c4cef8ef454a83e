"""The systems: one paper's way of adapting a part of a run each."""

from typing import Final

from backend.systems.agreedy.system import SYSTEM as AGREEDY
from backend.systems.asc.system import SYSTEM as ASC
from backend.systems.contract import CoreKind, System
from backend.systems.joins.core import JOINS as JOIN_CORE
from backend.systems.stream.chains.core import CHAINS
from backend.systems.stream.system import NetworkSystem

#: What may adapt operators of a network.
CORES: Final[tuple[CoreKind, ...]] = (CHAINS, JOIN_CORE)

STREAM: Final = NetworkSystem("stream", "STREAM", (CHAINS, JOIN_CORE))
JOINS: Final = NetworkSystem("joins", JOIN_CORE.title, (CHAINS, JOIN_CORE), needs=JOIN_CORE)

#: Asked in this order who can run a query; one that is no default runs those that name it.
SYSTEMS: Final[tuple[System, ...]] = (ASC, AGREEDY, STREAM, JOINS)

__all__ = ["AGREEDY", "ASC", "CORES", "JOINS", "STREAM", "SYSTEMS"]
