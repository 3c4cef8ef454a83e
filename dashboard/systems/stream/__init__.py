"""What operator networks show: what waited in their queues within a batch, and their chains."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.systems.stream import chains, changes, curves, words

FACE: Final = Face(
    folder=Path(__file__).parent,
    panels=(curves.PANEL, chains.PANEL),
    words=words.WORDS,
    kept=words.KEPT,
    nodes=words.NODES,
    groups=words.GROUPS,
    first=words.FIRST,
    unreplayed=words.UNREPLAYED,
    chosen=words.CHOSEN,
    changes=(changes.chain_changes,),
    limited={"state_bytes": "state_limit_bytes"},
    priced="processing_us",
)
