"""Words every decision core uses."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.records import Event

#: Of a run that goes on: what was sampled before is gone.
REFILLED: Final = Event(
    "run",
    "profile window is being refilled",
    "the run goes on with its plan; what was sampled before it stopped is gone",
)
