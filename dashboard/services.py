"""What every page and route works with, passed by closure: no globals, no singletons."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.live import Hub
from dashboard.settings import Settings
from storage.commands import CommandWriter
from storage.reader import Reader


@dataclass(frozen=True, slots=True)
class Services:
    """The store to read, the way to request changes (None: read-only), settings, live updates."""

    reader: Reader
    commands: CommandWriter | None
    settings: Settings
    live: Hub
