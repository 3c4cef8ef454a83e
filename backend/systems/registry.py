"""The systems: one paper's way of adapting a part of a run each."""

from typing import Final

from backend.systems.agreedy.system import SYSTEM as AGREEDY
from backend.systems.amri.core import AMRI as AMRI_CORE
from backend.systems.asc.system import SYSTEM as ASC
from backend.systems.cals.core import CALS as CALS_CORE
from backend.systems.contract import System
from backend.systems.cores import CoreKind
from backend.systems.joins.core import JOINS as JOIN_CORE
from backend.systems.kmon.core import KMON as KMON_CORE
from backend.systems.retention.core import RETENTION
from backend.systems.stream.chains.core import CHAINS
from backend.systems.stream.system import NetworkSystem

#: What may adapt operators of a network.
CORES: Final[tuple[CoreKind, ...]] = (
    *(CHAINS, JOIN_CORE, RETENTION),
    *(KMON_CORE, AMRI_CORE, CALS_CORE),
)

STREAM: Final = NetworkSystem("stream", "STREAM", (CHAINS, JOIN_CORE, RETENTION))
JOINS: Final = NetworkSystem(
    "joins", JOIN_CORE.title, (CHAINS, JOIN_CORE, RETENTION), needs=JOIN_CORE
)
KMON: Final = NetworkSystem("kmon", KMON_CORE.title, (CHAINS, KMON_CORE), needs=KMON_CORE)
AMRI: Final = NetworkSystem(
    "amri", AMRI_CORE.title, (CHAINS, AMRI_CORE, RETENTION), needs=AMRI_CORE
)

CALS: Final = NetworkSystem("cals", CALS_CORE.title, (CHAINS, CALS_CORE), needs=CALS_CORE)

#: Asked in this order who can run a query; one that is no default runs those that name it.
SYSTEMS: Final[tuple[System, ...]] = (ASC, AGREEDY, STREAM, JOINS, KMON, AMRI, CALS)

__all__ = ["AGREEDY", "AMRI", "ASC", "CALS", "CORES", "JOINS", "KMON", "STREAM", "SYSTEMS"]
