"""The introspection store: who may open it, and how.

The engine opens an :class:`EngineWriter`, the dashboard a :class:`Reader` and, to request things,
a :class:`CommandWriter`. An address is a file path (SQLite) or a SQLAlchemy URL (SQLite,
PostgreSQL).
"""

from __future__ import annotations

from storage.errors import (
    BadRecord,
    NotAStore,
    RunExists,
    RunLives,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
    StoreTooOld,
    UnknownRun,
    WrongValue,
)
from storage.exchange.commands import CommandWriter, open_command_writer
from storage.reader import Reader, open_reader
from storage.writer import EngineWriter, open_engine_writer

__all__ = [
    "BadRecord",
    "CommandWriter",
    "EngineWriter",
    "NotAStore",
    "Reader",
    "RunExists",
    "RunLives",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreMissing",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreTooOld",
    "UnknownRun",
    "WrongValue",
    "open_command_writer",
    "open_engine_writer",
    "open_reader",
]
