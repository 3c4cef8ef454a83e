"""What the turning core shows of itself: a page of its own, words, a figure, a script, a sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face, NodeKind
from dashboard.pages.contract import Page
from tests.systems.toy_core import panel

FACE: Final = Face(
    folder=Path(__file__).parent,
    pages=(
        Page(
            path=panel.PAGE,
            title="Turning",
            icon="M12 4a8 8 0 1 1-8 8M4 4v8h8",
            key="w",
            missing="Start a run with a turning query; its wheels appear here.",
        ),
    ),
    panels=(panel.PANEL,),
    words={"turn_every": "Tuples from turn to turn", "turned_total": "Turns so far"},
    nodes={"wheel": NodeKind("operator", "◴", "wheel", about="turns the orders of a join")},
    unreplayed={"turn_every": "Nothing tells what an order costs that was never run."},
)
