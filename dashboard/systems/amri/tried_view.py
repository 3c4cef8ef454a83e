"""What other indexes would have cost on the requests on record, beside what was spent.

Priced as the engine prices: by its cost model, corrected by what requests were measured to compare
(storage/vocabulary/amri_costs.py, amri_windows.py).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from dashboard.components.formats import show
from dashboard.systems.amri.recorded import RecordedWindow
from dashboard.systems.amri.tried_mixes import best_mix, retuned
from storage.vocabulary.amri_configurations import (
    MOST_CANDIDATES,
    configurations,
    even_split,
    n_configurations,
)
from storage.vocabulary.amri_costs import (
    COUNTED,
    MOST_BITS,
    REFINED,
    Bits,
    Candidates,
    Floats,
    places_of,
)
from storage.vocabulary.amri_patterns import Pattern, attributes_of, pattern_of
from storage.vocabulary.amri_windows import IndexRegret, RegretTotals

#: Between state, index and stretch in the address.
AT: Final = "@"
BITS: Final = "bits"
EVEN: Final = "even split"
HASH: Final = "hash indexes"
SCAN: Final = "scan"
MIX: Final = "portfolio"
RETUNED: Final = "retuned"
METHODS: Final = (BITS, EVEN, HASH, MIX, RETUNED, SCAN)
#: Hash indexes where none are asked for; requests between choices of bits, and the share that other
#: bits have to save, where these are not said.
N_MODULES: Final = 3
EVERY: Final = 60_000
MIN_GAIN: Final = 0.1
WORK: Final = (
    f"tuples compared and attributes hashed, one each; a bucket visited is {REFINED.bucket:g}, "
    f"reading a code alone {REFINED.code:g}"
)
#: Of the cost: a last bit that saves less is wasted, a next one that saves more is missing.
WASTED: Final = 0.002
MISSING: Final = 0.1
_STRETCH: Final = re.compile(r"(\d*)-(\d*)")


class AskedIndex(NamedTuple):
    """What the address asks for. state: by name, '' = the first; numbers: bits by attribute, or how
    many bits or hash indexes, or of a portfolio KiB (0 = no limit), or requests between choices of
    bits; stretch: batches, None = not said."""

    state: str = ""
    method: str = ""
    numbers: tuple[int, ...] = ()
    stretch: tuple[int | None, int | None] = (None, None)

    @classmethod
    def read(cls, text: str | None) -> AskedIndex:
        """As ``S@bits 4 0 2@10-60`` has it; nonsense counts as absent."""
        state, method, stretch = [*(text or "").split(AT), "", "", ""][:3]
        words = re.fullmatch(rf"({'|'.join(METHODS)})((?: \d+)*)", method.strip())
        numbers = tuple(map(int, words[2].split())) if words else ()
        ends = _STRETCH.fullmatch(stretch.strip())
        first, last = (int(end) if end else None for end in (ends.groups() if ends else ("", "")))
        is_sane = not words or words[1] not in (BITS, EVEN) or sum(numbers) <= MOST_BITS
        return cls(
            state.strip(), words[1] if words and is_sane else "", numbers if is_sane else (),
            (first, last),
        )  # fmt: skip

    def bits(self, n: int) -> Bits | None:
        """Those of an index of n attributes; None: it has none, or of other attributes."""
        if self.method == EVEN and len(self.numbers) == 1:
            return even_split(n, self.numbers[0])
        is_fit = self.method == BITS and len(self.numbers) == n
        return self.numbers if is_fit else None

    def number(self, method: str, usual: int) -> int:
        """That of a method which has one."""
        return self.numbers[0] if self.method == method and self.numbers else usual


class TriedWindow(NamedTuple):
    """Batches first to last, bits in force, requests, and work of all: spent and tried."""

    first: int
    last: int
    time: float
    bits: Bits
    requests: int
    spent: float
    tried: float


class MadeIndex(NamedTuple):
    """What is tried. bits, modules: it is made of, bits that are retuned the last ones; costs: of
    each window. kib: that a portfolio may take, 0 = no limit; every: requests between choices of
    bits, n_changes: of these."""

    bits: Bits
    modules: tuple[Pattern, ...]
    costs: Sequence[float]
    kib: int = 0
    every: int = EVERY
    n_changes: int = 0


class TriedIndex(NamedTuple):
    """An index on the requests of some windows, in counted work. method: of METHODS; fixed: the
    best bits that never change, of at most budget, and sequence: the best sequence of bits with
    migrations, in hindsight; even, hashed, scan: of the other methods."""

    method: str
    made: MadeIndex
    windows: tuple[TriedWindow, ...]
    spent: float
    fixed: float
    fixed_bits: Bits
    sequence: float
    even: float
    hashed: float
    scan: float
    budget: int

    @property
    def bits(self) -> Bits:
        return self.made.bits

    @property
    def modules(self) -> tuple[Pattern, ...]:
        return self.made.modules

    @property
    def tried(self) -> float:
        """Of what is tried."""
        return sum(self.made.costs)

    @property
    def requests(self) -> int:
        """Of all windows."""
        return sum(window.requests for window in self.windows)


def tried_index(
    windows: Sequence[RecordedWindow],
    asked: AskedIndex,
    in_force: Bits,
    budget: int,
    min_gain: float = MIN_GAIN,
) -> TriedIndex:
    """The index that is asked for, else the bits in force. budget: bits of those in hindsight;
    min_gain: share that retuned bits have to save."""
    n = len(in_force)
    bits = asked.bits(n)
    method = asked.method if bits is not None or asked.method not in ("", BITS, EVEN) else BITS
    bits = bits if bits is not None else in_force if method == BITS else (0,) * n
    modules = most_asked(windows, asked.number(HASH, N_MODULES))
    within = budget_within(n, budget)
    candidates = configurations((within,) * n, within, at_most=True)
    others = np.array([bits, even_split(n, budget), (0,) * n], dtype=np.int64)
    every = np.vstack([candidates, others])
    every.flags.writeable = False
    n_own = len(candidates)
    pairs = [recorded.window.costs(every) for recorded in windows]
    costs, spent = [of_each for of_each, _ in pairs], [was for _, was in pairs]
    own = [of_each[:n_own] for of_each in costs]
    hashed = [recorded.window.module_cost(modules) for recorded in windows]
    tried = hashed if method == HASH else [float(of_each[n_own]) for of_each in costs]
    made = MadeIndex(bits, modules, tried)
    if method == MIX:
        made = _mixed(windows, candidates, own, asked.number(MIX, 0))
    elif method == RETUNED:
        made = _retuned(windows, candidates, own, asked.number(RETUNED, EVERY), min_gain)
    totals = _ledger(windows, candidates, own, spent)
    even, scan = np.sum([of_each[n_own + 1 :] for of_each in costs], axis=0).tolist()
    rows = [
        TriedWindow(*of[:3], of.window.bits, of.window.counts.requests, was, cost)
        for of, was, cost in zip(windows, spent, made.costs, strict=True)
    ]
    return TriedIndex(
        method, made, tuple(rows), totals.spent, totals.fixed, totals.fixed_bits, totals.sequence,
        even, sum(hashed), scan, within,
    )  # fmt: skip


def _ledger(
    windows: Sequence[RecordedWindow],
    candidates: Candidates,
    costs: Sequence[Floats],
    spent: Sequence[float],
) -> RegretTotals:
    ledger = IndexRegret(candidates, COUNTED)
    for recorded, of_each, was in zip(windows, costs, spent, strict=True):
        ledger.account(of_each, was, recorded.window.n_tuples)
    return ledger.totals


def _mixed(
    windows: Sequence[RecordedWindow], candidates: Candidates, costs: Sequence[Floats], kib: int
) -> MadeIndex:
    """Bits alone are priced as they are elsewhere: getting at tuples, too, as it was measured."""
    asked = most_asked(windows, 1 << candidates.shape[1])
    mix = best_mix(windows, candidates, asked, kib * 1024 or math.inf)
    place = places_of(candidates)[mix.bits]
    by_bits = [float(of_each[place]) for of_each in costs]
    return MadeIndex(mix.bits, mix.modules, mix.costs if mix.modules else by_bits, kib=kib)


def _retuned(
    windows: Sequence[RecordedWindow],
    candidates: Candidates,
    costs: Sequence[Floats],
    every: int,
    min_gain: float,
) -> MadeIndex:
    other = retuned(windows, candidates, costs, max(1, every), min_gain)
    last = other.bits[-1]
    return MadeIndex(last, (), other.costs, every=max(1, every), n_changes=other.n_changes)


def most_asked(windows: Sequence[RecordedWindow], k: int) -> tuple[Pattern, ...]:
    """The patterns that hash indexes are on: the k most frequent ones, of equal ones the larger.
    None has what is asked for by order alone."""
    asked = Counter[Pattern]()
    for recorded in windows:
        window = recorded.window
        for p, row in window.counts.by_pattern.items():
            asked[p & ~window.ordered] += row[0]
    return tuple(sorted((p for p in asked if p), key=lambda p: (-asked[p], -p))[:k])


def budget_within(n: int, budget: int) -> int:
    """So many bits, or as many as can be compared one by one."""
    while n_configurations((budget,) * n, budget, at_most=True) > MOST_CANDIDATES:
        budget -= 1
    return budget


def summed(windows: Sequence[RecordedWindow], candidates: Candidates) -> tuple[Floats, float, int]:
    """What all requests would have cost under each, what they cost, and how many they were."""
    costs, spent, requests = np.zeros(len(candidates)), 0.0, 0
    for recorded in windows:
        own, measured = recorded.window.costs(candidates)
        costs, spent = costs + own, spent + measured
        requests += recorded.window.counts.requests
    return costs, spent, requests


class EarnedBits(NamedTuple):
    """What the bits of an attribute earn, in work a request. asked: share of the requests that
    specify it; last: what its last bit saves, next: one more would save, None = it has none, or as
    many as there can be; loss: what a request costs more without it."""

    attribute: str
    bits: int
    asked: float
    last: float | None
    next: float | None
    loss: float
    verdict: str


def earned_bits(
    windows: Sequence[RecordedWindow], attributes: Sequence[str], bits: Bits
) -> list[EarnedBits]:
    """By attribute, with these bits, on the requests of some windows."""
    n = len(bits)
    changed = [(k, b) for k in range(n) for b in (max(0, bits[k] - 1), bits[k] + 1, 0)]
    rows = [bits, *((*bits[:k], b, *bits[k + 1 :]) for k, b in changed)]
    costs, _, requests = summed(windows, np.array(rows, dtype=np.int64))
    cost, *others = (costs / max(1, requests)).tolist()
    by_pattern = Counter[Pattern]()
    for recorded in windows:
        by_pattern.update({p: row[0] for p, row in recorded.window.counts.by_pattern.items()})
    lines = []
    for k, name in enumerate(attributes):
        fewer, more, without = others[3 * k : 3 * k + 3]
        last = fewer - cost if bits[k] else None
        then = cost - more if sum(bits) < MOST_BITS else None
        own = pattern_of([k], n)
        asked = sum(count for p, count in by_pattern.items() if p & own) / max(1, requests)
        verdict = "wasted" if last is not None and last <= WASTED * cost else ""
        if not verdict and then is not None and then >= MISSING * cost:
            verdict = "missing"
        lines.append(EarnedBits(name, bits[k], asked, last, then, without - cost, verdict))
    return lines


def index_words(tried: TriedIndex, attributes: Sequence[str]) -> str:
    """The index in words: 'bits a 4, b 2', '2 hash indexes on a, and on a with b'."""
    if tried.method == SCAN:
        return "a scan"
    names = [
        " with ".join(attributes[a] for a in attributes_of(p, len(attributes)))
        for p in tried.modules
    ]
    hashed = f"hash indexes on {'; '.join(names)}" if names else ""
    if tried.method == HASH:
        return hashed or "no hash index, so a scan"
    spread = f"bits {bits_by_attribute(attributes, tried.bits)}"
    if tried.method == RETUNED:
        n = tried.made.n_changes
        changes = f"{n} change{'s' * (n != 1)}, at last {spread}"
        return f"bits chosen anew every {show(tried.made.every, 'int')} requests ({changes})"
    if tried.method == MIX:
        parts = [spread] * any(tried.bits) + [hashed] * bool(names)
        limit = f" within {show(tried.made.kib, 'int')} KiB" if tried.made.kib else ""
        return f"the best mix{limit}: {' with '.join(parts) or 'a scan'}"
    return spread


def bits_by_attribute(attributes: Sequence[str], bits: Sequence[int]) -> str:
    """'a 4, b 2'."""
    return ", ".join(f"{name} {n}" for name, n in zip(attributes, bits, strict=True)) or "none"


def moved_words(windows: Sequence[RecordedWindow], attributes: Sequence[str], bits: Bits) -> str:
    """What bits would have cost, in a sentence."""
    spread = bits_by_attribute(attributes, bits)
    if not windows:
        return f"{spread}: what that would have cost is not on record."
    costs, spent, requests = summed(windows, np.array([bits], dtype=np.int64))
    words = apart_words(float(costs[0]), spent, requests)
    return f"{spread}: {words} (batches {windows[0].first} to {windows[-1].last})."


def apart_words(cost: float, spent: float, requests: int) -> str:
    """'a request would have cost 31.2, 13.6 % less than the 36.1 it did'."""
    each, was = cost / max(1, requests), spent / max(1, requests)
    share = each / was - 1 if was else 0.0
    words = f"a request would have cost {show(each, 'f2')}"
    if abs(share) < 0.0005:
        return f"{words}, as much as it did"
    more = "more" if share > 0 else "less"
    return f"{words}, {show(abs(share), 'pct')} {more} than the {show(was, 'f2')} it did"
