"""Seeded synthetic streams that change on schedule, and query sets like Table 1's Q1.

20 int attributes a1..a20 with values 0..99, as the data of [L12] Section 6 (D1 uniform, D2 bell).
The papers give neither D2's shape nor the query sets: D2 is normal(50, 15) clipped to 0..99, and
the queries are generated with Q1's published characteristics (50 queries, 204 selection predicates
on 10 attributes).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import erf, sqrt
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema

N_ATTRIBUTES: Final = 20
N_VALUES: Final = 100
DRIFT_SCHEMA: Final = Schema.parse(", ".join(f"a{i} int" for i in range(1, N_ATTRIBUTES + 1)))
#: Where values of a selective attribute pile up: what most queries do not want.
HIGH: Final = range(80, N_VALUES)
#: Where values of a permissive attribute pile up: what most queries want.
LOW: Final = range(20)
#: The attributes queries are about (Q1 has 10 p-attributes); the rest is only carried along.
P_ATTRIBUTES: Final = tuple(f"a{i}" for i in range(1, 11))
#: Every query uses one of the first hub, nearly every one also one of the second: each hub is
#: (nearly) a cover set of size 3, so a tuple can be dropped after three visits.
HUBS: Final = (("a1", "a2", "a3"), ("a4", "a5", "a6"))
#: Tuples drawn from one random stream; any slice is made of whole blocks, cut.
BLOCK_TUPLES: Final = 8192
_LEVELS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the schedule.

    distribution: 'uniform' (D1) or 'bell' (D2). selective: attributes of which the share
    ``strength`` of values comes from HIGH instead, so that they refute most queries using them;
    permissive: likewise from LOW, so that they refute few.
    """

    distribution: str
    n_tuples: int
    selective: tuple[str, ...] = ()
    permissive: tuple[str, ...] = ()
    strength: float = 0.8


class DriftError(ValueError):
    """A phase that cannot be; the message says what is allowed."""


def phases_from_json(text: str) -> tuple[Phase, ...]:
    """The ``phases`` option of a drift source: a JSON list of tables. Raises DriftError."""
    try:
        tables = json.loads(text, object_pairs_hook=_table)
    except json.JSONDecodeError:
        tables = None
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables) or not tables:
        raise DriftError("phases must be a list of tables, one a phase")
    return tuple(_phase(number, table) for number, table in enumerate(tables, start=1))


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DriftError(f"a phase has the key {twice!r} twice")
    return table


def _phase(number: int, table: dict[str, Any]) -> Phase:
    unknown = table.keys() - {"distribution", "n_tuples", "selective", "permissive", "strength"}
    if unknown:
        raise DriftError(f"phase {number} has an unknown key {min(unknown)!r}")
    for key in ("selective", "permissive"):
        if not isinstance(table.get(key, []), list):
            raise DriftError(f"phase {number}: {key} must be a list of attributes")
    phase = Phase(
        table.get("distribution", "uniform"),
        table.get("n_tuples", 0),
        tuple(table.get("selective", ())),
        tuple(table.get("permissive", ())),
        table.get("strength", 0.8),
    )
    check_phase(number, phase)
    return phase


def check_phase(number: int, phase: Phase) -> None:
    """Raises DriftError when the phase is not possible."""
    if phase.distribution not in ("uniform", "bell"):
        raise DriftError(f"phase {number}: distribution must be uniform or bell")
    if type(phase.n_tuples) is not int or phase.n_tuples < 1:
        raise DriftError(f"phase {number}: n_tuples must be a whole number above 0")
    if not isinstance(phase.strength, int | float) or not 0 <= phase.strength <= 1:
        raise DriftError(f"phase {number}: strength must be within 0..1")
    for name in (*phase.selective, *phase.permissive):
        if DRIFT_SCHEMA.find(str(name)) is None:
            raise DriftError(f"phase {number}: there is no attribute {name!r}; a1..a{N_ATTRIBUTES}")


def drift_table(seed: int, phases: Sequence[Phase], start: int, count: int) -> pa.Table:
    """Tuples ``start`` .. ``start + count - 1`` of the schedule, which repeats when it is over.

    Any slice of the stream is the same whatever slices are taken: every block of BLOCK_TUPLES has
    its own generator, keyed by (seed, block). Probabilities are multiples of 2^-16.
    """
    values = drift_values(seed, phases, start, count)
    arrays = [pa.array(column) for column in values]
    return pa.Table.from_arrays(arrays, names=list(DRIFT_SCHEMA.names))


def drift_values(seed: int, phases: Sequence[Phase], start: int, count: int) -> NDArray[np.int32]:
    """The same as an array (N_ATTRIBUTES, count)."""
    values = np.empty((N_ATTRIBUTES, count), dtype=np.int32)
    ends = list(accumulate(phase.n_tuples for phase in phases))
    tables = [_quantile_tables(phase) for phase in phases]
    done = 0
    while done < count:
        block, offset = divmod(start + done, BLOCK_TUPLES)
        cycle = (start + done) % ends[-1]
        phase = next(i for i, end in enumerate(ends) if cycle < end)
        n = min(BLOCK_TUPLES - offset, count - done, ends[phase] - cycle)
        draws = _draws(seed, block)[:, offset : offset + n]
        for row, table, drawn in zip(values, tables[phase], draws, strict=True):
            row[done : done + n] = table[drawn]
        done += n
    return values


def _draws(seed: int, block: int) -> NDArray[np.uint16]:
    generator = np.random.Generator(np.random.Philox(key=[seed, block]))
    return generator.integers(_LEVELS, size=(N_ATTRIBUTES, BLOCK_TUPLES), dtype=np.uint16)


@cache
def _quantile_tables(phase: Phase) -> tuple[NDArray[np.int32], ...]:
    """For each attribute the value at each of the 2^16 quantiles of its distribution."""
    base = _base(phase.distribution)
    plain = _quantiles(base)
    high, low = (_quantiles(_mixed(base, piled, phase.strength)) for piled in (HIGH, LOW))
    selective = {name.lower() for name in phase.selective}
    permissive = {name.lower() for name in phase.permissive}
    return tuple(
        high if name in selective else low if name in permissive else plain
        for name in DRIFT_SCHEMA.names
    )


def _mixed(base: NDArray[np.float64], piled: range, strength: float) -> NDArray[np.float64]:
    pile = np.zeros(N_VALUES)
    pile[piled.start : piled.stop] = 1 / len(piled)
    return (1 - strength) * base + strength * pile


def _base(distribution: str) -> NDArray[np.float64]:
    if distribution == "uniform":
        return np.full(N_VALUES, 1 / N_VALUES)
    edges = [(v - 50) / (15 * sqrt(2)) for v in np.arange(0.5, N_VALUES - 1)]
    cumulative = np.array([0.0, *((1 + erf(edge)) / 2 for edge in edges), 1.0])
    return np.diff(cumulative)


def _quantiles(probabilities: NDArray[np.float64]) -> NDArray[np.int32]:
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    return np.searchsorted(np.cumsum(probabilities), levels).clip(0, N_VALUES - 1).astype(np.int32)


def q1_queries(
    seed: int,
    k: int = 50,
    n_predicates: int | None = None,
    matched_prob: float = 0.6,
    common: Sequence[str] = (),
    stream: str = "Drift",
) -> dict[str, str]:
    """``k`` conjunctive queries, name -> CQL text, in the manner of Table 1's Q1 [L12].

    n_predicates: in all, spread evenly; 204 for each 50 queries when None. matched_prob: the sum of
    the queries' match probabilities on uniform data (whatever k: the share of matched tuples stays
    about the same). common: attributes every query uses instead of one of each hub; a phase that
    makes a common attribute selective lets it alone drop most tuples.
    """
    rng = np.random.default_rng(seed)
    total = round(k * 204 / 50) if n_predicates is None else n_predicates
    sizes = np.full(k, total // k)
    sizes[rng.permutation(k)[: total - int(sizes.sum())]] += 1
    digits = max(2, len(str(k)))
    return {
        f"q{j:0{digits}}": _query_text(rng, int(size), matched_prob / k, tuple(common), stream)
        for j, size in enumerate(sizes, start=1)
    }


def _query_text(
    rng: np.random.Generator, size: int, match_prob: float, common: tuple[str, ...], stream: str
) -> str:
    first = list(common) or [str(rng.choice(HUBS[0]))]
    if not common and rng.random() < 0.95:
        first.append(str(rng.choice(HUBS[1])))
    others = [str(name) for name in rng.permutation(P_ATTRIBUTES) if name not in first]
    attributes = (first + others)[:size]
    target = match_prob * float(np.exp(rng.uniform(-0.7, 0.7)))
    predicates = []
    if rng.random() < 0.25 and len(attributes) > len(first):
        predicates.append(f"{attributes.pop()} = {rng.integers(20, 80)}")
        target *= N_VALUES
    shares = rng.dirichlet(np.full(len(attributes), 3.0))
    for name, share in zip(attributes, shares, strict=True):
        selectivity = min(1.0, target) ** float(share)
        predicates.append(_predicate(rng, name, selectivity, name in first))
    predicates.sort(key=lambda text: int(text[1 : text.index(" ")]))
    return f"Select * From {stream} Where {' and '.join(predicates)}"


def _predicate(rng: np.random.Generator, name: str, selectivity: float, wants_low: bool) -> str:
    """A predicate of about this selectivity on uniform data; most want low values."""
    c = int(np.clip(round(N_VALUES * selectivity), 3, HIGH.start))
    if not wants_low and rng.random() < 0.05:
        return f"{name} <> {rng.integers(20, 80)}"
    if wants_low or rng.random() < 0.9:
        return f"{name} < {c}" if rng.random() < 0.5 else f"{name} <= {c - 1}"
    return f"{name} >= {N_VALUES - c}" if rng.random() < 0.5 else f"{name} > {N_VALUES - 1 - c}"
