"""What windows that shed show: receipts, runs, accuracy over time, what they keep."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.pages.contract import Page
from dashboard.systems.cals import curve, gain, lanes, race, receipts, runs, shed, words
from dashboard.systems.cals.history import PAGE
from storage.vocabulary.cals import AS_IN_THE_PAPER

FACE: Final = Face(
    folder=Path(__file__).parent,
    pages=(
        Page(
            path=PAGE,
            title="Shedding",
            icon="M4 6h10v4H4zM4 14h5v4H4zM13 14h3M18 14h2M13 18h3M18 18h2M18 6h2M18 10h2",
            key="h",
            missing="Start one with python3 run.py demo cals; what its window sheds appears here.",
            nothing="Receipts come with the first temporal query that runs under CALS.",
        ),
    ),
    panels=(
        shed.PANEL,
        curve.PANEL,
        race.PANEL,
        receipts.PANEL,
        lanes.PANEL,
        runs.PANEL,
        lanes.LANES,
    ),
    words=words.WORDS,
    needs=words.NEEDS,
    nodes=words.NODES,
    holds=words.HOLDS,
    marks=words.MARKS,
    groups=words.GROUPS,
    first=words.FIRST,
    follows=words.FOLLOWS,
    unreplayed=words.UNREPLAYED,
    gains=(gain.SOURCE,),
    verdict=gain.VERDICT,
    compared=gain.COMPARED,
    presets={"As in the paper of CALS": AS_IN_THE_PAPER},
)
