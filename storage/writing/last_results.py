"""Which results are kept: the last few of each query as of each of the last batches, in memory.

Who looks at a moment looks a little behind the newest batch: what was the last of a query there is
still kept when others have come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from storage.vocabulary.records import ResultTuple

RESULTS_PER_QUERY: Final = 20
#: Batches as of each of which a query has its last RESULTS_PER_QUERY.
RECENT_BATCHES: Final = 8


class KeptResult(NamedTuple):
    """A result that a query keeps, by its number, and the batch it was in."""

    number: int
    batch: int


class Turnover(NamedTuple):
    """What a batch adds to the stored results and takes from them.

    added: (number, result). links, lost_links: (query, number). lost: numbers of results.
    """

    added: list[tuple[int, ResultTuple]]
    links: list[tuple[str, int]]
    lost_links: list[tuple[str, int]]
    lost: list[int]


@dataclass(slots=True)
class LastResults:
    """The results each query keeps, oldest first; n: results numbered so far. uses: queries that
    keep a result."""

    n: int = 0
    kept: dict[str, tuple[KeptResult, ...]] = field(default_factory=dict)
    uses: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of_links(cls, links: Iterable[tuple[str, int, int]]) -> LastResults:
        """What stored (query, number, batch) links say, in any order."""
        last = cls()
        kept: dict[str, list[KeptResult]] = {}
        for query, number, batch in sorted(links, key=lambda link: link[1]):
            kept.setdefault(query, []).append(KeptResult(number, batch))
            last.uses[number] += 1
            last.n = number
        last.kept = {query: tuple(results) for query, results in kept.items()}
        return last

    def copy(self) -> LastResults:
        """A copy to change within a transaction that may fail."""
        return LastResults(self.n, dict(self.kept), Counter(self.uses))

    def add(self, results: Sequence[ResultTuple], batch: int) -> Turnover:
        """Number the results of a batch; keep of each query what ``still_kept`` tells."""
        before = self.n
        came: dict[str, list[KeptResult]] = {}
        for number, result in enumerate(results, start=before + 1):
            for query in result.query_ids:
                came.setdefault(query, []).append(KeptResult(number, batch))
        self.n += len(results)
        pushed_out: list[tuple[str, int]] = []
        for query, fresh in came.items():
            own = (*self.kept.get(query, ()), *fresh)
            self.kept[query] = still_kept(own, batch)
            stay = set(self.kept[query])
            pushed_out += [(query, result.number) for result in own if result not in stay]
            self.uses.update(result.number for result in fresh)
        return self._turnover(results, before, sorted(came), pushed_out)

    def _turnover(
        self,
        results: Sequence[ResultTuple],
        before: int,
        queries: Sequence[str],
        pushed_out: Sequence[tuple[str, int]],
    ) -> Turnover:
        """before: results numbered before the batch. queries: of the batch, sorted."""
        for _, number in pushed_out:
            self.uses[number] -= 1
        gone = {number for _, number in pushed_out if not self.uses[number]}
        for number in gone:
            del self.uses[number]
        fresh = enumerate(results, start=before + 1)
        added = [(number, result) for number, result in fresh if number in self.uses]
        links = [
            (query, kept.number)
            for query in queries
            for kept in self.kept[query]
            if kept.number > before
        ]
        lost_links = [(query, number) for query, number in pushed_out if number <= before]
        return Turnover(added, links, lost_links, sorted(n for n in gone if n <= before))


def still_kept(results: Sequence[KeptResult], batch: int) -> tuple[KeptResult, ...]:
    """Of the results of a query, oldest first, the last few as of each of the last RECENT_BATCHES
    up to ``batch``: of a batch as many as are shown, of those before all of them together."""
    since = batch - RECENT_BATCHES + 1
    newer_in: Counter[int] = Counter()
    kept = []
    for result in reversed(results):
        place = max(result.batch, since - 1)
        newer_in[place] += 1
        if newer_in[place] <= RESULTS_PER_QUERY:
            kept.append(result)
    return tuple(reversed(kept))
