"""What adaptive selection constructs show: regions, selectivities, hybrid plans, what μ does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.systems.asc import (
    gain,
    ghost_parts,
    hybrid,
    hybrid_view,
    matrix,
    regret,
    replay,
    whatif,
    words,
)
from storage.vocabulary.asc import AS_IN_THE_PAPERS

FACE: Final = Face(
    folder=Path(__file__).parent,
    panels=(
        hybrid.PANEL,
        matrix.SELECTIVITY_PANEL,
        matrix.REGIONS_PANEL,
        whatif.PANEL,
        regret.PANEL,
    ),
    words=words.WORDS,
    needs=words.NEEDS,
    kept=words.KEPT,
    nodes=words.NODES,
    groups=words.GROUPS,
    first=words.FIRST,
    unreplayed=words.UNREPLAYED,
    chosen=words.CHOSEN,
    replays=(replay.replay,),
    ghost=ghost_parts.TrialGhost(),
    watching=words.WATCHING,
    gains=(gain.SOURCE,),
    presets={"As in the papers of ASC": AS_IN_THE_PAPERS},
    verdict=regret.VERDICT,
    skips=hybrid_view.skips_of,
    refuted=matrix.refuted_in,
)
