"""Component ids the shell and the pages share. Pages keep their private ids in their own module."""

from __future__ import annotations

from typing import Final

LOCATION: Final = "pw-location"
"""dcc.Location: path = page, search = the moment (``?run=&at=&node=&frozen=1``)."""

MOMENT: Final = "pw-moment"
"""dcc.Store with the moment as JSON; THE input of page callbacks (see dashboard.base.context)."""

THEME: Final = "pw-theme"
"""dcc.Store: 'light' or 'dark', what is on screen now; an input of callbacks that draw figures."""

NEWS: Final = "pw-news"
"""dcc.Store: {run, news}; changes with the run and with structural news, not with numbers."""

PAGE_KEY: Final = "pw-page-key"
"""dcc.Store: {path, run}; changes when another page or another run is to be laid out."""

SNAPSHOT: Final = "pw-snapshot"
"""dcc.Store: what header and strip show (dashboard.views.shell.Snapshot as JSON)."""

SHELL: Final = "pw-shell"
SHELL_RUN: Final = "pw-shell-run"
PAGE: Final = "pw-page"
STRIP: Final = "pw-strip"
HELP: Final = "pw-help"
MAIN: Final = "main"
ANNOUNCE: Final = "pw-announce"
TOASTS: Final = "pw-toasts"
