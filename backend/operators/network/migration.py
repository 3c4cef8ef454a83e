"""Tuples of synopses move between stores when the layout changes.

Numbers of tuples stay: the k-th element of a feed has number k with all who read it, in a shared
store or not, so stores can be joined and taken apart at any moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from backend.operators.network.blocks import Column64, Ints
from backend.operators.network.layouts import StorePlan, StubPlan
from backend.operators.network.regions import Regions
from backend.operators.network.stores import Store

Layout: TypeAlias = tuple[StorePlan, ...]
_Owner: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Held:
    """What a stub holds. own: words of the store's own, by tuple."""

    lo: int
    shown: int
    hi: int
    columns: tuple[Column64, ...] = ()
    own: tuple[Ints, ...] = ()


def migrate(stores: Regions, noted: Layout, wanted: Layout, alone: Layout) -> Layout:
    """Bring stores from the layout ``noted`` to the layout ``wanted``; returns what they have come
    to. Stubs cannot share a store while elements between them wait whose tuples none of them
    holds; those stay ``alone``, a layout without sharing, until the next time."""
    kept = [store for store in noted if any(store.holds_as(other) for other in wanted)]
    changed = [store for store in noted if store not in kept]
    held = {
        stub.owner: _take_out(stores, store, place)
        for store in noted
        for place, stub in enumerate(store.stubs)
    }
    for store in changed:
        stores.drop(store.id)
    for store in kept:
        now = next(other for other in wanted if store.holds_as(other))
        for name in set(store.indexes) - set(now.indexes):
            stores.scope(store.id).drop(name)
    news = [store for store in wanted if not any(store.holds_as(other) for other in kept)]
    _begin_new_stubs(held, noted, news)
    return tuple(
        part
        for store in wanted
        for part in (_filled(stores, store, held, alone) if store in news else (store,))
    )


def _take_out(stores: Regions, plan: StorePlan, place: int) -> _Held:
    store = Store(stores.scope(plan.id), plan.format, len(plan.stubs))
    stub = store.stub(place)
    seqs = np.arange(stub.lo, stub.hi)
    own = store.words(seqs, range(plan.format.own, plan.format.width))
    columns = store.columns(seqs, plan.stubs[place].columns)
    return _Held(stub.lo, stub.shown, stub.hi, columns, tuple(own))


def _begin_new_stubs(
    held: dict[_Owner, _Held], noted: Sequence[StorePlan], news: Sequence[StorePlan]
) -> None:
    """A stub that is new is empty, and has come as far as others that read the same."""
    known = [stub for store in noted for stub in store.stubs]
    for stub in [stub for store in news for stub in store.stubs]:
        if stub.owner not in held:
            at = _progress(stub, known, held)
            held[stub.owner] = _Held(at, at, at)
            known.append(stub)


def _progress(stub: StubPlan, known: Iterable[StubPlan], held: Mapping[_Owner, _Held]) -> int:
    reached = [0]
    for other in known:
        if other.operator == stub.feed:
            return held[other.owner].shown
        if other.feed == stub.feed:
            reached.append(held[other.owner].hi)
    return max(reached)


def _filled(
    stores: Regions, plan: StorePlan, held: Mapping[_Owner, _Held], alone: Layout
) -> Layout:
    """A new store with what its stubs hold; or a store for each of them."""
    parts = [held[stub.owner] for stub in plan.stubs]
    lo, hi = min(part.lo for part in parts), max(part.hi for part in parts)
    columns = [Column64(np.zeros(hi - lo, type), np.ones(hi - lo, bool)) for type in plan.types]
    own = [np.zeros(hi - lo, np.int64) for _ in range(plan.format.n_own)]
    covered = np.zeros(hi - lo, bool)
    for stub, part in zip(plan.stubs, parts, strict=True):
        news = np.arange(part.lo - lo, part.hi - lo)
        fresh = ~covered[news]
        for place, column in zip(stub.columns, part.columns, strict=False):
            columns[place].values[news[fresh]] = column.values[fresh]
            columns[place].is_valid[news[fresh]] = column.is_valid[fresh]
        for words, found in zip(own, part.own, strict=False):
            words[news[fresh]] = found[fresh]
        covered[news] = True
    if not covered.all():
        owners = {stub.owner for stub in plan.stubs}
        singles = [store for store in alone if store.stubs[0].owner in owners]
        return tuple(one for store in singles for one in _filled(stores, store, held, alone))
    store = Store(stores.scope(plan.id), plan.format, len(plan.stubs))
    for place, part in enumerate(parts):
        store.stub(place).move(part.lo, part.shown, part.hi)
    store.hi = lo
    store.append(columns, hi - lo, own)
    return (plan,)
