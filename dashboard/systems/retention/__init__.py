"""What joins that keep less than all show: shares of keys on cards, results lost by input."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.systems.retention import losses, words

FACE: Final = Face(
    folder=Path(__file__).parent,
    panels=(losses.PANEL,),
    words=words.WORDS,
    needs=words.NEEDS,
    marks=words.MARKS,
    groups=words.GROUPS,
    follows=words.FOLLOWS,
    unreplayed=words.UNREPLAYED,
)
