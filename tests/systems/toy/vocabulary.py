"""What the sampling system publishes."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

SAMPLING: Final = Vocabulary(
    roles=("sample",),
    matrices=("shares",),
    properties={
        "passed_prob": Property(
            "prob", ("operator",), "share of the tuples of the batch that it let pass"
        ),
    },
)
