"""The faces of all systems: one folder and one line each, in the order pages show them in."""

from __future__ import annotations

from typing import Final

from dashboard.base.face import Face
from dashboard.systems import agreedy, amri, asc, cals, joins, kmon, retention, stream

FACES: Final[tuple[Face, ...]] = (
    asc.FACE,
    agreedy.FACE,
    stream.FACE,
    joins.FACE,
    retention.FACE,
    kmon.FACE,
    amri.FACE,
    cals.FACE,
)
