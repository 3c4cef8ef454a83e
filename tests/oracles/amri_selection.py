"""Eq. 1 term by term in exact numbers, and every configuration: AMRI's slow twin. Card A5, A14."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

Number = Fraction | int


@dataclass(frozen=True)
class Load:
    """F by pattern, a word such as '101'; λ_d, λ_r, W; costs C_h, C_c, C_b. distinct: values by
    attribute; visits: C_b counts. windows: W_ap of some patterns. ordered: attributes that are
    asked for by order alone, a word as well."""

    frequencies: Mapping[str, Fraction]
    arrivals: Number = 1
    requests: Number = 1
    window: Number = 1
    hash: Number = 1
    compare: Number = 1
    bucket: Number = 0
    distinct: Sequence[Number] = ()
    windows: Mapping[str, Number] = field(default_factory=dict)
    ordered: str = ""

    def is_ordered(self, attribute: int) -> bool:
        return self.ordered[attribute : attribute + 1] == "1"

    def stored(self, word: str) -> Number:
        return self.arrivals * self.windows.get(word, self.window)


def codes(load: Load, attribute: int, bits: int) -> int:
    """That an attribute has, if its values are many; 256 at most by order."""
    return 1 << (min(bits, 8) if load.is_ordered(attribute) else bits)


def left(load: Load, attribute: int, bits: int) -> Fraction:
    """The share of the tuples that a code leaves."""
    share = Fraction(1, codes(load, attribute, bits))
    if load.is_ordered(attribute):
        in_range = 1 / Fraction(load.distinct[attribute] if load.distinct else 2)
        return in_range + (1 - in_range) * share
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
            filled *= codes(load, a, own) if load.is_ordered(a) else 1 / left(load, a, own)
            if a not in specified:
                wild *= 2**own
            elif load.is_ordered(a):
                wild *= codes(load, a, own) * left(load, a, own)
        visits = min(wild, filled, Fraction(load.stored(word)))
        of_one = compared * load.compare + visits * load.bucket
        total += load.requests * f * of_one
        total += load.requests * (1 if literal else f) * n_hashed * load.hash
    return total


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


def first_reach(
    load: Load,
    word: str,
    incumbent: Sequence[int],
    ahead: Mapping[tuple[int, ...], tuple[Number, Number]],
    least: Number,
) -> Fraction | None:
    """The share of the requests of a window that would have to ask for a pattern instead, the
    others less in proportion, for a first candidate to be ahead by twice its price; None: no share
    below 1 is enough, or none above 0 is needed. ahead: of candidates so far, and their prices. How
    far one is ahead grows evenly with the share, so that both ends tell where it stands between."""
    found = []
    for candidate, (advantage, price) in ahead.items():
        ends = []
        for share in (Fraction(0), Fraction(1)):
            moved = {w: (1 - share) * f for w, f in load.frequencies.items()}
            moved[word] = moved.get(word, Fraction(0)) + share
            window = replace(load, frequencies=moved)
            ends.append(advantage + (1 - least) * cost(window, incumbent) - cost(window, candidate))
        if ends[0] < 2 * price < ends[1]:
            found.append((2 * price - ends[0]) / (ends[1] - ends[0]))
    return min(found, default=None)
