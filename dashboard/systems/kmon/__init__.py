"""What joins under k-constraints show: the k ledger, what if k, synopses in parts, k over time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.pages.contract import Page
from dashboard.systems.kmon import bids, changes, gain, kept, lanes, ledger, synopses, whatif, words

FACE: Final = Face(
    folder=Path(__file__).parent,
    pages=(
        Page(
            path=ledger.PAGE,
            title="Constraints",
            icon="M3 5v14M21 5v14M3 12h18M8 9v6M13 10v4M16 8v8",
            key="x",
            missing="Start one with python3 run.py demo kmon; its constraints appear here.",
            nothing="Constraints come with the first query that runs under k-Mon.",
        ),
    ),
    panels=(ledger.PANEL, whatif.PANEL, kept.PANEL, synopses.PANEL, lanes.PANEL, bids.PANEL),
    words=words.WORDS,
    needs=words.NEEDS,
    kept=words.KEPT,
    nodes=words.NODES,
    marks=words.MARKS,
    groups=words.GROUPS,
    first=words.FIRST,
    hushed=words.HUSHED,
    unreplayed=words.UNREPLAYED,
    gains=(gain.SOURCE,),
    verdict=gain.VERDICT,
    changes=(changes.constraint_changes,),
    compared=gain.COMPARED,
)
