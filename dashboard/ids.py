"""Component ids the shell and the pages share. Pages keep their private ids in their own module."""

from __future__ import annotations

from typing import Final

LOCATION: Final = "pw-location"
"""dcc.Location: path = page, search = the moment (``?run=&at=&node=&frozen=1``)."""

MOMENT: Final = "pw-moment"
"""dcc.Store with the moment as JSON; THE input of page callbacks (see dashboard.context)."""

THEME: Final = "pw-theme"
"""dcc.Store: 'light' or 'dark', what is on screen now; an input of callbacks that draw figures."""

SHELL: Final = "pw-shell"
HEADER: Final = "pw-header"
NAV: Final = "pw-nav"
PAGE: Final = "pw-page"
STRIP: Final = "pw-strip"
HELP: Final = "pw-help"
MAIN: Final = "main"
