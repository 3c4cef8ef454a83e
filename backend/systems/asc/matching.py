"""Matching tuples against constructs in a given order, with early drop. [L07] Algorithm 1.

Erratum 25 applied: GRB starts anew per tuple and is tested after each AND.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.systems.asc.constructs import ConstructSet, Words

#: 'resolved': skip an ASC that can clear no live bit, finish when none can. 'drop': visit every
#: ASC until GRB = 0, as in the papers.
StopRule: TypeAlias = Literal["resolved", "drop"]
Regions: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Trace:
    """What early drop did on T tuples with n constructs in a given order.

    grb: uint64[T, W], final. visits: intp[T], constructs visited per tuple. visited: bool[T, n],
    which, columns in the order given. reached: intp[n], tuples that visited the ASC at each place
    of the order. alive: intp[n], tuples with GRB != 0 after that place.
    """

    grb: Words
    visits: NDArray[np.intp]
    visited: NDArray[np.bool_]
    reached: NDArray[np.intp]
    alive: NDArray[np.intp]

    @property
    def n_unmatched(self) -> int:
        """Tuples that satisfy no query."""
        return int(len(self.grb) - self.grb.any(axis=1).sum())


def sample_regions(constructs: ConstructSet, sample: Mapping[str, Sequence[Any]]) -> Regions:
    """intp[T, n]: the region each sampled tuple hits, one column per p-attribute, schema order.

    sample: attribute -> raw values of T tuples. Raises KeyError for a p-attribute without values.
    """
    columns = [c.regions_of(sample[a]) for a, c in constructs.constructs.items()]
    if not columns:
        return np.zeros((max((len(v) for v in sample.values()), default=0), 0), dtype=np.intp)
    return np.column_stack(columns)


def trace(
    constructs: ConstructSet, regions: Regions, order: Sequence[str], stop_rule: StopRule
) -> Trace:
    """Match T tuples, given as regions intp[T, n] (see sample_regions), in ``order``.

    The order may be a prefix. The stop rule holds tuple by tuple.
    """
    n_tuples = len(regions)
    grb = np.repeat(constructs.initial[None, :], n_tuples, axis=0)
    visited = np.zeros((len(order), n_tuples), dtype=np.bool_)
    alive = np.zeros(len(order), dtype=np.intp)
    columns = {attribute: i for i, attribute in enumerate(constructs.constructs)}
    for place, attribute in enumerate(order):
        construct = constructs.constructs[attribute]
        tested: Words = grb & construct.qub if stop_rule == "resolved" else grb
        visited[place] = np.any(tested, axis=1)
        grb &= construct.qrb[regions[:, columns[attribute]]]  # a skipped one would clear no bit
        alive[place] = np.count_nonzero(grb.any(axis=1))
    visits, reached = visited.sum(axis=0, dtype=np.intp), visited.sum(axis=1, dtype=np.intp)
    return Trace(grb, visits, visited.T, reached, alive)
