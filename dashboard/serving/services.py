"""What every page and route works with, passed by closure: no globals, no singletons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from flask import has_request_context, request

from dashboard.serving.live import Hub
from dashboard.serving.security import ONLY_VIEWS, Guard
from dashboard.serving.settings import Settings
from storage.exchange.commands import CommandWriter
from storage.one_moment import MomentReader
from storage.reader import Reader


@dataclass(frozen=True, slots=True)
class Services:
    """The store to read, the way to request changes (None: read-only), settings, live updates."""

    reader: Reader
    commands: CommandWriter | None
    settings: Settings
    live: Hub

    @property
    def why_no_control(self) -> str:
        """Why who asks can change nothing here, or ''."""
        is_viewer = has_request_context() and Guard(self.settings).only_views(request)
        return self.settings.why_no_control or (ONLY_VIEWS if is_viewer else "")

    @contextmanager
    def at_once(self) -> Iterator[Services]:
        """The same for what is drawn together: all of it reads the store as of one instant."""
        with MomentReader(self.reader) as reader:
            yield replace(self, reader=reader)
