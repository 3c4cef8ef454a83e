"""What became of a change, from the list of all batches: AMRI's slow twin. docs/introspection.md"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

LEAST_REQUESTS = 30


class Batch(NamedTuple):
    """A state in a batch. bits: in force; rows: by pattern (a bit for each attribute) requests,
    tuples matched and compared, buckets visited; stored: tuples that a request found."""

    bits: tuple[int, ...]
    rows: Mapping[int, tuple[int, int, int, int]]
    stored: int

    @property
    def n(self) -> int:
        return sum(row[0] for row in self.rows.values())


class Judged(NamedTuple):
    """At the take of a batch, by place: cost of a request since, requests; of those of patterns
    known before: cost, what it would have been, requests."""

    place: int
    cost: Fraction
    n: int
    new: Fraction | None
    old: Fraction | None
    n_alike: int


def judged(
    batches: Sequence[Batch], changed: int, new: tuple[int, ...], least: int
) -> Judged | None:
    """Of a change of bits after the batch of that place; None: not over, or never in force."""
    bits = batches[changed].bits
    first = changed
    while first and batches[first - 1].bits == bits:
        first -= 1
    before, since = batches[first : changed + 1], list[Batch]()
    for place in range(changed + 1, len(batches)):
        if batches[place].bits != new or (since and sum(b.n for b in since) >= least):
            return _judged(place, before, since)
        since.append(batches[place])
    return None


def _judged(place: int, before: Sequence[Batch], since: Sequence[Batch]) -> Judged | None:
    n = sum(batch.n for batch in since)
    if not n:
        return None
    work = [_work(since, pattern) for pattern in range(_patterns(since))]
    alike = [
        (own, _work(before, pattern))
        for pattern, own in enumerate(work)
        if _work(before, pattern)[0] >= LEAST_REQUESTS
    ]
    n_alike = sum(own[0] for own, _ in alike)
    scale = _met(since) / _met(before) if n_alike else Fraction(1)
    old = sum((own[0] * (scale * was[1] + was[2]) / was[0] for own, was in alike), Fraction(0))
    new = Fraction(sum(own[1] + own[2] for own, _ in alike))
    cost = Fraction(sum(own[1] + own[2] for own in work), n)
    then, was = (new / n_alike, old / n_alike) if n_alike else (None, None)
    return Judged(place, cost, n, then, was, n_alike)


def _patterns(batches: Sequence[Batch]) -> int:
    return 1 + max((p for batch in batches for p in batch.rows), default=0)


def _work(batches: Sequence[Batch], pattern: int) -> tuple[int, int, int]:
    """Requests, tuples compared, attributes hashed and buckets visited."""
    n = compared = rest = 0
    for batch in batches:
        requests, _, of_batch, buckets = batch.rows.get(pattern, (0, 0, 0, 0))
        width = len(batch.bits)
        hashed = sum(1 for k, b in enumerate(batch.bits) if b and pattern >> (width - 1 - k) & 1)
        n, compared, rest = n + requests, compared + of_batch, rest + buckets + requests * hashed
    return n, compared, rest


def _met(batches: Sequence[Batch]) -> Fraction:
    return Fraction(sum(b.n * b.stored for b in batches), sum(b.n for b in batches))
