"""The synopses that operators of a shard have, in the stores of its regions.

The regions note the layout that they hold. When the plan's is another one (sharing was switched, a
query came or went), the first operator that is made brings the stores to it; all operators of a
shard are therefore made together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from backend.operators.network.core.blocks import Column64, Ints
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.layouts import StorePlan, StubPlan
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import Regions
from backend.operators.network.stores.migration import migrate
from backend.operators.network.stores.stores import Store, Stub

#: The scope of regions that holds all stores.
STORES: Final = "stores"
_NOTE: Final = "layout"
_NO_STORES: Final = b"[]"


@dataclass(frozen=True, slots=True)
class Synopsis:
    """An operator's stub with the store below."""

    store: Store
    plan: StorePlan
    place: int

    @property
    def stub(self) -> Stub:
        """Good until the store is taken up anew."""
        return self.store.stub(self.place)

    @property
    def columns(self) -> tuple[int, ...]:
        """The store's column of each of its columns."""
        return self.plan.stubs[self.place].columns

    @property
    def n_tuples(self) -> int:
        """Tuples that the stub holds."""
        self.store.take_up()
        return self.stub.n_tuples

    @property
    def n_bytes(self) -> int:
        """Bytes in use; those of a shared store are its first stub's."""
        self.store.take_up()
        return self.plan.n_bytes(self.store.n_tuples) if self.place == 0 else 0

    @property
    def n_ahead(self) -> int:
        """Tuples that others have entered and this stub has not come to."""
        return self.store.hi - self.stub.hi

    def enter(self, columns: Sequence[Column64], n: int, own: Sequence[Ints] = ()) -> None:
        """Have n tuples more in the store: what other stubs were first to enter is there."""
        there = min(n, self.n_ahead)
        if there == n:
            return
        news = slice(there, n)
        rest = [column.take(news) for column in columns]
        self.store.append(rest, n - there, [words[news] for words in own])


def synopses(surroundings: Surroundings, operator: str) -> tuple[Synopsis, ...]:
    """The synopses of an operator, by its inputs, in the layout of the plan."""
    stores = surroundings.regions.scope(STORES)
    by_port = {
        stub.port: Synopsis(_store(stores, plan), plan, place)
        for plan in _adopted(surroundings.plan, stores)
        for place, stub in enumerate(plan.stubs)
        if stub.operator == operator
    }
    return tuple(by_port[port] for port in sorted(by_port))


def noted_layout(stores: Regions) -> tuple[StorePlan, ...]:
    """The layout that the regions of the stores hold."""
    return tuple(_read_store(store) for store in json.loads(_note(stores)))


def _store(stores: Regions, plan: StorePlan) -> Store:
    return Store(stores.scope(plan.id), plan.format, len(plan.stubs))


def layout_alone(plan: NetworkPlan) -> tuple[StorePlan, ...]:
    """The layout of the stores if nothing were shared."""
    return _wanted(plan).alone


class _Wanted:
    """The layout of a plan, worked out once for all its operators."""

    def __init__(self, plan: NetworkPlan) -> None:
        self.plan, self.layout = plan, plan.store_layout()
        self.text = _written(self.layout)

    @cached_property
    def alone(self) -> tuple[StorePlan, ...]:
        """Without sharing."""
        return replace(self.plan, sharing=False).store_layout()


_wanted_last: _Wanted | None = None


def _wanted(plan: NetworkPlan) -> _Wanted:
    global _wanted_last
    last = _wanted_last
    if last is None or last.plan is not plan:
        last = _wanted_last = _Wanted(plan)
    return last


def _adopted(plan: NetworkPlan, stores: Regions) -> tuple[StorePlan, ...]:
    """The layout of the stores, brought to the plan's."""
    wanted, note = _wanted(plan), _note(stores)
    if note == wanted.text:
        return wanted.layout
    layout, noted = wanted.layout, noted_layout(stores)
    if noted:
        layout = migrate(stores, noted, layout, wanted.alone)
    text = _written(layout)
    if text != note:
        stores.drop(_NOTE)
        stores.array(_NOTE, "uint8", len(text))[:] = np.frombuffer(text, np.uint8)
    return layout


def _note(stores: Regions) -> bytes:
    """The layout as it is written in the regions."""
    note = stores.array(_NOTE, "uint8", len(_NO_STORES))
    return note.tobytes() if note.any() else _NO_STORES


def _written(layout: tuple[StorePlan, ...]) -> bytes:
    return json.dumps([asdict(store) for store in layout]).encode()


def _read_store(stored: Mapping[str, Any]) -> StorePlan:
    stubs = tuple(
        StubPlan(s["operator"], s["port"], tuple(s["columns"]), s["feed"], tuple(s["indexes"]))
        for s in stored["stubs"]
    )
    return StorePlan(stored["kind"], tuple(stored["types"]), stubs)
