"""What a run says to people who open it; its settings keep both."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.records import Run

#: In a run's settings: a sentence of the workload file.
ABOUT: Final = "about"
#: In those of a shipped recording: the batch at which the headline says most.
OPENS_AT: Final = "opens_at"


def about_of(run: Run) -> str:
    """What its queries are about, '' of older records."""
    about = run.settings.get(ABOUT)
    return about if isinstance(about, str) else ""


def opens_at(run: Run) -> int | None:
    """The batch that a shipped recording opens on; None of other runs."""
    batch = run.settings.get(OPENS_AT)
    return batch if isinstance(batch, int) else None
