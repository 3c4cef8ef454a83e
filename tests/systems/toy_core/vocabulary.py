"""What the turning core publishes."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

TURNING: Final = Vocabulary(
    roles=("wheel",),
    matrices=("turns",),
    properties={
        "turned_total": Property("turns", ("monitor",), "how often the orders of a join turned"),
    },
)
