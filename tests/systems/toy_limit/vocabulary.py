"""What the thinning core publishes."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

THINNING: Final = Vocabulary(
    roles=("thinned", "thinner"),
    properties={
        "thinned_tuples": Property("tuples", ("monitor",), "tuples dropped in the batch"),
        "thinned_so_far": Property("tuples", ("monitor",), "tuples dropped since the run began"),
    },
    events=("thinned",),
)
