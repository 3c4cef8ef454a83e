"""Which results are kept: the last few of each query, counted in memory."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from storage.vocabulary.records import ResultTuple

RESULTS_PER_QUERY: Final = 20


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
    """The numbers of the results each query keeps, oldest first; n: results numbered so far."""

    n: int = 0
    kept: dict[str, deque[int]] = field(default_factory=dict)
    uses: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of_links(cls, links: Iterable[tuple[str, int]]) -> LastResults:
        """What stored (query, number) links say, in any order."""
        last = cls()
        for query, number in sorted(links, key=lambda link: link[1]):
            last.kept.setdefault(query, deque()).append(number)
            last.uses[number] += 1
            last.n = number
        return last

    def copy(self) -> LastResults:
        """A copy to change within a transaction that may fail."""
        kept = {query: deque(numbers) for query, numbers in self.kept.items()}
        return LastResults(self.n, kept, Counter(self.uses))

    def add(self, results: Sequence[ResultTuple]) -> Turnover:
        """Number the results, keep the last RESULTS_PER_QUERY of each query."""
        before = self.n
        pushed_out = []
        for result in results:
            self.n += 1
            for query in result.query_ids:
                numbers = self.kept.setdefault(query, deque())
                numbers.append(self.n)
                self.uses[self.n] += 1
                if len(numbers) > RESULTS_PER_QUERY:
                    pushed_out.append((query, numbers.popleft()))
        for _, number in pushed_out:
            self.uses[number] -= 1
        gone = {number for _, number in pushed_out if not self.uses[number]}
        for number in gone:
            del self.uses[number]
        fresh = [(before + place, result) for place, result in enumerate(results, start=1)]
        added = [(number, result) for number, result in fresh if number in self.uses]
        queries = {query for _, result in added for query in result.query_ids}
        links = [(q, number) for q in sorted(queries) for number in self.kept[q] if number > before]
        lost_links = [(query, number) for query, number in pushed_out if number <= before]
        return Turnover(added, links, lost_links, sorted(n for n in gone if n <= before))
