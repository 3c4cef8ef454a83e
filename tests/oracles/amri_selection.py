"""Eq. 1 term by term in exact numbers, and every configuration: AMRI's slow twin. Card A5, A14."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

Number = Fraction | int


@dataclass(frozen=True)
class Load:
    """F by pattern, a word such as '101'; λ_d, λ_r, W; costs C_h, C_c, C_b, and of a code that is
    read in vain. distinct: values by attribute. windows: W_ap of some patterns."""

    frequencies: Mapping[str, Fraction]
    arrivals: Number = 1
    requests: Number = 1
    window: Number = 1
    hash: Number = 1
    compare: Number = 1
    bucket: Number = 0
    code: Number = 0
    distinct: Sequence[Number] = ()
    windows: Mapping[str, Number] = field(default_factory=dict)

    def stored(self, word: str) -> Number:
        return self.arrivals * self.windows.get(word, self.window)


def left(load: Load, attribute: int, bits: int) -> Fraction:
    """The share of the tuples that a code leaves."""
    share = Fraction(1, 2**bits)
    return max(share, 1 / Fraction(load.distinct[attribute])) if load.distinct else share


def cost(load: Load, bits: Sequence[int], literal: bool = False) -> Fraction:
    """C_D, and bucket visits where C_b is above 0."""
    total = Fraction(load.arrivals * load.hash * sum(b > 0 for b in bits))
    for word, f in load.frequencies.items():
        of_one = Fraction(0)
        specified = [a for a, w in enumerate(word) if w == "1"]
        n_hashed = sum(bits[a] > 0 for a in specified)
        compared = Fraction(load.stored(word))
        for a in specified:
            compared *= left(load, a, bits[a])
        wild, filled = Fraction(1), Fraction(1)
        for a, own in enumerate(bits):
            filled /= left(load, a, own)
            if a not in specified:
                wild *= 2**own
        got_at = min(wild, filled, Fraction(load.stored(word))) * load.bucket
        if load.bucket and load.code:
            got_at = least_way(load, word, bits, compared)
        of_one = compared * load.compare + got_at
        total += load.requests * f * of_one
        total += load.requests * (1 if literal else f) * n_hashed * load.hash
    return total


def least_way(load: Load, word: str, bits: Sequence[int], compared: Fraction) -> Fraction:
    """To all buckets that the wild cards before the last known attribute stand for, or past all
    codes (ADR 32)."""
    codes = load.bucket + max(Fraction(0), load.stored(word) - compared) * load.code
    known = [a for a, own in enumerate(bits) if own and word[a] == "1"]
    if not known:
        return Fraction(codes)
    wild = sum(own for a, own in enumerate(bits[: known[-1]]) if word[a] != "1")
    return min(Fraction(2) ** wild * load.bucket, Fraction(codes))


def vectors(
    n: int, bits: int, at_most: bool, caps: Sequence[int] = ()
) -> Iterator[tuple[int, ...]]:
    """All of them; exactly as many as the caps allow, where these allow fewer."""
    caps = caps or [bits] * n
    wanted = min(bits, sum(caps))
    for one in product(*(range(min(bits, cap) + 1) for cap in caps)):
        if sum(one) == wanted or (at_most and sum(one) < wanted):
            yield one


def best(
    load: Load, n: int, bits: int, at_most: bool, caps: Sequence[int] = (), literal: bool = False
) -> tuple[int, ...]:
    """Lower cost, then fewer indexed attributes, then the lexicographically larger vector."""
    return min(
        vectors(n, bits, at_most, caps),
        key=lambda v: (cost(load, v, literal), sum(b > 0 for b in v), tuple(-b for b in v)),
    )


def most_benefit(load: Load, attribute: int, bits: int) -> Fraction:
    """MB(A) of Eq. 2 as the card reads it."""
    asking = {w: f for w, f in load.frequencies.items() if w[attribute] == "1"}
    saved = sum((f * load.stored(w) for w, f in asking.items()), Fraction(0))
    saved *= load.requests * (1 - left(load, attribute, bits)) * load.compare
    return saved - (load.requests * sum(asking.values(), Fraction(0)) + load.arrivals) * load.hash


def divided(curves: Sequence[Sequence[Number]], budget: int) -> tuple[int, ...]:
    """Every division; the cheapest, then with fewest bits, then the lexicographically largest."""
    return min(
        (d for d in product(*(range(len(c)) for c in curves)) if sum(d) <= budget),
        key=lambda d: (
            sum(c[b] for c, b in zip(curves, d, strict=True)), sum(d), tuple(-b for b in d),
        ),
    )  # fmt: skip
