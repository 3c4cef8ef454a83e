"""Matches per query, and whose are published with a batch: of thousands not all every time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from storage.vocabulary.records import Sample

#: Up to so many queries all that matched are published with every batch.
ALL: Final = 500
#: Of more, those with the most matches so far, and others in turn.
_LEADERS: Final = 200
_IN_TURN: Final = 300
#: Batches between two looks at who leads.
_EVERY: Final = 20


class QueryTotals:
    """Tuples each query matched since the run began; what was not published yet waits its turn."""

    def __init__(self, entity_of: Callable[[str], str | None], known: Mapping[str, int]) -> None:
        """entity_of: the entity of a query's name, None for one that is gone. known: totals of a
        run that goes on."""
        self._entity_of = entity_of
        self._totals: dict[str, int] = dict(known)
        self._waiting: dict[str, None] = {}
        self._leaders: list[str] = []
        self._batches = 0

    def add(self, matched: Mapping[str, int]) -> list[Sample]:
        """Count a batch (name -> tuples, none of them 0); the samples to publish with it."""
        for name, n in matched.items():
            self._totals[name] = self._totals.get(name, 0) + n
        if len(self._totals) <= ALL:
            return self._published(matched, matched)
        if self._batches % _EVERY == 0:
            self._leaders = heapq.nlargest(_LEADERS, self._totals, key=self._totals.__getitem__)
        self._batches += 1
        self._waiting.update(dict.fromkeys(matched))
        leading = [name for name in self._leaders if name in matched]
        for name in leading:
            del self._waiting[name]
        in_turn = [name for name, _ in zip(self._waiting, range(_IN_TURN), strict=False)]
        for name in in_turn:
            del self._waiting[name]
        return self._published([*leading, *in_turn], matched)

    def rest(self) -> list[Sample]:
        """The totals that still wait to be published; they wait no longer."""
        waiting, self._waiting = self._waiting, {}
        return self._published(waiting, {})

    def _published(self, names: Iterable[str], matched: Mapping[str, int]) -> list[Sample]:
        samples: list[Sample] = []
        for name in names:
            entity = self._entity_of(name)
            if entity is None:
                continue
            if name in matched:
                samples.append(Sample(entity, "matched_tuples", matched[name], "tuples"))
            samples.append(Sample(entity, "matched_total", self._totals[name], "tuples"))
        return samples
