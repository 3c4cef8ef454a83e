"""When tuples kept aside are an event: not in every batch, but when something new is wrong."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.records import Event, Misfit

#: An error not seen for so many batches is news again.
QUIET_BATCHES: Final = 50
#: Texts remembered; errors that quote values may have any number of them.
REMEMBERED: Final = 1000


class MisfitNews:
    """Remembers which errors were seen, and when."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def events(self, batch: int, n_misfits: int, shown: tuple[Misfit, ...]) -> tuple[Event, ...]:
        """At most one event. shown: the first of the n_misfits tuples kept aside in the batch."""
        errors = dict.fromkeys(one.error for one in shown)
        news = [text for text in errors if self._is_news(text, batch)]
        for text in errors:
            self._seen.pop(text, None)
            self._seen[text] = batch
        while len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        if not news:
            return ()
        noun = "tuple" if n_misfits == 1 else "tuples"
        return (Event("misfit", f"{n_misfits} {noun} kept aside", news[0], "warning"),)

    def _is_news(self, text: str, batch: int) -> bool:
        last = self._seen.get(text)
        return last is None or batch - last > QUIET_BATCHES
