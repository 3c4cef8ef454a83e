"""What eddies show: the bits of their states' indexes, what is asked, routes, what tuning cost."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.pages.contract import Page
from dashboard.panels.common.headroom import looks_panel
from dashboard.systems.amri import (
    bits,
    changes,
    gain,
    hub,
    lanes,
    lattice,
    regret,
    routes,
    tried,
    words,
)
from dashboard.systems.amri.bits_view import PARTITIONS
from storage.vocabulary.amri import AS_IN_THE_PAPER

FACE: Final = Face(
    folder=Path(__file__).parent,
    pages=(
        Page(
            path=bits.PAGE,
            title="Index bits",
            label="Index",
            icon="M4 5h4v6H4zM10 5h4v6h-4zM16 5h4v6h-4zM4 15h4v4H4zM10 15h4v4h-4zM16 15h4v4h-4z",
            key="i",
            missing="Start one with python3 run.py demo amri; the bits of its indexes appear here.",
            nothing="Indexes by bits come with the first query that runs under AMRI.",
        ),
    ),
    panels=(
        hub.PANEL,
        bits.PANEL,
        looks_panel("index-looks", bits.PAGE, PARTITIONS),
        tried.PANEL,
        lattice.PANEL,
        regret.PANEL,
        routes.PANEL,
        lanes.PANEL,
    ),
    gains=(gain.SOURCE,),
    verdict=gain.VERDICT,
    words=words.WORDS,
    needs=words.NEEDS,
    kept=words.KEPT,
    nodes=words.NODES,
    holds=words.HOLDS,
    groups=words.GROUPS,
    first=words.FIRST,
    unreplayed=words.UNREPLAYED,
    presets={"As in the paper of AMRI": AS_IN_THE_PAPER},
    changes=(changes.route_changes, changes.bit_changes),
)
