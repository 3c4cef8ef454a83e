"""What the toy shows: the shares of its last batches."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from tests.systems.toy import panel

FACE: Final = Face(folder=Path(__file__).parent, panels=(panel.PANEL,))
