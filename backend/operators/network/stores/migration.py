"""Tuples of synopses move between stores when the layout changes.

Numbers of tuples stay: the k-th element of a feed has number k with all who read it, in a shared
store or not, so stores can be joined and taken apart at any moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from backend.operators.network.core.blocks import Column64, Ints
from backend.operators.network.core.layouts import StorePlan, StubPlan
from backend.operators.network.core.regions import Regions
from backend.operators.network.stores.stores import Store

Layout: TypeAlias = tuple[StorePlan, ...]
_Owner: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Tuples:
    """What a store held, from tuple ``lo`` on. own: words of the store's own."""

    lo: int
    columns: tuple[Column64, ...]
    own: Ints


@dataclass(frozen=True, slots=True)
class _Held:
    """What a stub held. columns: those of ``tuples`` that are its columns."""

    lo: int
    shown: int
    hi: int
    tuples: _Tuples | None = None
    columns: tuple[int, ...] = ()


def migrate(stores: Regions, noted: Layout, wanted: Layout, alone: Layout) -> Layout:
    """Bring stores from the layout ``noted`` to the layout ``wanted``; returns what they have come
    to. Stubs cannot share a store while elements between them wait whose tuples none of them
    holds; those stay ``alone``, a layout without sharing, until the next time."""
    kept = [store for store in noted if any(store.holds_as(other) for other in wanted)]
    changed = [store for store in noted if store not in kept]
    held: dict[_Owner, _Held] = {}
    for store in noted:
        held |= _taken_out(stores, store, store in changed)
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


def _taken_out(stores: Regions, plan: StorePlan, with_tuples: bool) -> dict[_Owner, _Held]:
    """What each stub of a store holds."""
    store = Store(stores.scope(plan.id), plan.format, len(plan.stubs))
    tuples = None
    if with_tuples:
        seqs = np.arange(store.lo, store.hi)
        own = store.words(seqs, range(plan.format.own, plan.format.width))
        tuples = _Tuples(store.lo, store.columns(seqs, range(len(plan.types))), own)
    views = [store.stub(place) for place in range(len(plan.stubs))]
    return {
        stub.owner: _Held(view.lo, view.shown, view.hi, tuples, stub.columns)
        for stub, view in zip(plan.stubs, views, strict=True)
    }


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


def _knows_less(held_stub: tuple[StubPlan, _Held]) -> int:
    """Sorts those first whose tuples have all columns and the store's own words."""
    return 0 if held_stub[1].tuples is None else -len(held_stub[1].tuples.own)


def _filled(
    stores: Regions, plan: StorePlan, held: Mapping[_Owner, _Held], alone: Layout
) -> Layout:
    """A new store with what its stubs hold; or a store for each of them."""
    parts = [held[stub.owner] for stub in plan.stubs]
    lo, hi = min(part.lo for part in parts), max(part.hi for part in parts)
    columns = [Column64(np.zeros(hi - lo, type), np.ones(hi - lo, bool)) for type in plan.types]
    own = [np.zeros(hi - lo, np.int64) for _ in range(plan.format.n_own)]
    covered = np.zeros(hi - lo, bool)
    for stub, part in sorted(zip(plan.stubs, parts, strict=True), key=_knows_less):
        news = part.lo + np.flatnonzero(~covered[part.lo - lo : part.hi - lo])
        if part.tuples is None or not len(news):
            continue
        to, at = news - lo, news - part.tuples.lo
        for place, old in zip(stub.columns, part.columns, strict=True):
            columns[place].values[to] = part.tuples.columns[old].values[at]
            columns[place].is_valid[to] = part.tuples.columns[old].is_valid[at]
        for words, values in zip(own, part.tuples.own, strict=False):
            words[to] = values[at]
        covered[to] = True
    if not covered.all():
        owners = {stub.owner for stub in plan.stubs}
        singles = [store for store in alone if store.stubs[0].owner in owners]
        return tuple(filled for store in singles for filled in _filled(stores, store, held, alone))
    store = Store(stores.scope(plan.id), plan.format, len(plan.stubs))
    for place, part in enumerate(parts):
        store.stub(place).move(part.lo, part.shown, part.hi)
    store.hi = lo
    store.append(columns, hi - lo, own)
    return (plan,)
