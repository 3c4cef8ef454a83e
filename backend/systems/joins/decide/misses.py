"""How often look-ups miss, of caches in use and in the shadow. [B05] §5.5.2, card 10.2"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from backend.operators.network.joins.join_tuning import CacheCounts, Segment, ShadowCounts
from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.costs import PipelineFlow
from backend.systems.joins.decide.join_model import LookupPlace
from backend.systems.joins.decide.shape import Orders
from backend.systems.joins.decide.statistics import MissWindow

KeyT = TypeVar("KeyT")


class CacheMisses:
    """Of the caches of one join. keep: W, blocks of ``block_probes`` look-ups that are looked
    at."""

    def __init__(self, keep: int, block_probes: int) -> None:
        self._keep, self._block = keep, block_probes
        self._shadows: dict[tuple[str, Segment], MissWindow] = {}
        self._observed: dict[str, MissWindow] = {}

    # ------------------------------------------------------------------ taking in

    def add_shadow(self, cache: str, reader: Segment, counts: ShadowCounts) -> None:
        """A reader of a candidate was looked up in the shadow in a batch."""
        window = self._window(self._shadows, (cache, reader))
        window.add(counts.n_probes, counts.misses, counts.n_blocks)

    def add_used(self, cache: str, counts: CacheCounts) -> None:
        """A cache was in use in a batch."""
        window = self._window(self._observed, cache)
        window.add(counts.probes, counts.probes - counts.hits, counts.probes / self._block)

    def forget(self, cache: str) -> None:
        """A cache is looked up in another way from now on."""
        self._observed.pop(cache, None)

    def forget_shadows(self, cache: str) -> None:
        """A candidate is profiled anew."""
        self._shadows = {key: shadow for key, shadow in self._shadows.items() if key[0] != cache}

    # ------------------------------------------------------------------ telling

    def is_shadowed(self, cache: str, reader: Segment) -> bool:
        """Whether W blocks of shadow look-ups were seen of a reader."""
        window = self._shadows.get((cache, reader))
        return window is not None and window.is_full

    def is_observed(self, cache: str) -> bool:
        """Whether W blocks of look-ups of a cache in use were seen."""
        return cache in self._observed and self._observed[cache].is_full

    def prob(
        self, candidate: CacheCandidate, reader: Segment, flow: PipelineFlow
    ) -> tuple[float, int]:
        """As observed once there is enough of that, before as looked up in the shadow; and how many
        look-ups that rests on. A reader nobody looked up is taken to miss always.

        Where a witness is of the input that looks up, an entry goes with its last tuple (erratum 7
        A), so that only look-ups that find something can hit: at most as many as find a result.
        """
        is_observed = self.is_observed(candidate.id)
        window = self._seen(candidate, reader, is_observed)
        if window is None or window.prob is None:
            return 1.0, 0
        prob, lookups = window.prob, flow.entering[reader.first]
        drops_empty = candidate.n_counted and reader.pipeline in candidate.witnesses
        if drops_empty and lookups and not is_observed:
            nonempty = min(1.0, flow.entering[candidate.update_step + 1] / lookups)
            prob = 1 - (1 - prob) * nonempty
        return prob, window.n_probes

    def by_place(
        self, candidates: Iterable[CacheCandidate], orders: Orders
    ) -> dict[LookupPlace, float]:
        """What is known of look-ups, by where they are made: of plain caches in use as observed,
        else as the shadow says, which asks for the key alone."""
        probs = dict[LookupPlace, float]()
        for candidate in candidates:
            is_seen = not candidate.witnesses and self.is_observed(candidate.id)
            for at in candidate.readers:
                window = self._seen(candidate, at, is_seen)
                if window is not None and window.prob is not None:
                    joined = frozenset((at.pipeline, *orders[at.pipeline][: at.first]))
                    probs[at.pipeline, joined, candidate.key] = window.prob
        return probs

    # ------------------------------------------------------------------ going on

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "used": {id: observed.state() for id, observed in self._observed.items()},
            "shadows": [
                [id, list(at), shadow.state()] for (id, at), shadow in self._shadows.items()
            ],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was seen."""
        for id, seen in state["used"].items():
            self._window(self._observed, id).add(*seen)
        for id, reader, seen in state["shadows"]:
            self._window(self._shadows, (id, Segment(*reader))).add(*seen)

    # ------------------------------------------------------------------ parts

    def _seen(
        self, candidate: CacheCandidate, reader: Segment, is_observed: bool
    ) -> MissWindow | None:
        if is_observed:
            return self._observed[candidate.id]
        return self._shadows.get((candidate.id, reader))

    def _window(self, windows: dict[KeyT, MissWindow], key: KeyT) -> MissWindow:
        return windows.setdefault(key, MissWindow(self._keep))
