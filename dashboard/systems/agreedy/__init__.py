"""What pipelined filters show: the matrix view, its last check, the race, what profiling costs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.systems.agreedy import check, filters, overhead, race, words
from storage.vocabulary.agreedy import AS_IN_THE_THESIS

FACE: Final = Face(
    folder=Path(__file__).parent,
    panels=(filters.PANEL, race.PANEL, check.CHECK, check.NEAR, overhead.PANEL),
    words=words.WORDS,
    needs=words.NEEDS,
    kept=words.KEPT,
    nodes=words.NODES,
    groups=words.GROUPS,
    first=words.FIRST,
    follows=words.FOLLOWS,
    hushed=words.HUSHED,
    unreplayed=words.UNREPLAYED,
    gains=words.GAINS,
    presets={"As in the thesis of A-Greedy": AS_IN_THE_THESIS},
)
