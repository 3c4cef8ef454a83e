"""What a network keeps, as introspection shows it: synopses, stores that several share, stubs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from backend.model.ids import entity_id
from backend.operators.network.core.plan import NetworkPlan
from backend.systems.stream.describing import DescribedOperator
from storage.vocabulary.records import Json


@dataclass(frozen=True, slots=True)
class Holding:
    """A synopsis of an operator by itself, a store that synopses share, or the stub of one.

    id: of its entity. operators: those that look into it. store, port: of what lies in a store, its
    id there and the input of its operator; '' and 0 for other synopses.
    """

    id: str
    role: Literal["synopsis", "store", "stub"]
    name: str
    operators: tuple[str, ...]
    store: str = ""
    port: int = 0
    facts: Mapping[str, Json] = field(default_factory=dict)


def holdings(
    unit_id: str,
    plan: NetworkPlan,
    words: Mapping[str, DescribedOperator],
    names: Mapping[str, str],
) -> tuple[Holding, ...]:
    """Of all operators of a plan, stores first."""
    held = []
    for store in plan.store_layout():
        shared = len(store.stubs) > 1
        store_id = entity_id(unit_id, "store", store.id)
        if shared:
            ends = tuple(dict.fromkeys(stub.operator for stub in store.stubs))
            name = f"tuples of {names[store.stubs[0].feed]}"
            held.append(Holding(store_id, "store", name, ends, store.id))
        for stub in store.stubs:
            operator, port = stub.operator, stub.port
            facts: dict[str, Json] = {"indexes": len(stub.indexes)}
            if shared:
                facts["store"] = store_id
            held.append(
                Holding(
                    entity_id(unit_id, "synopsis", f"{operator}.{port}"),
                    "stub" if shared else "synopsis",
                    _kept(plan, operator, port, words, names),
                    (operator,),
                    store.id,
                    port,
                    facts,
                )
            )
    in_stores = {id for holding in held for id in holding.operators}
    for id, word in words.items():
        if word.keeps and id not in in_stores:
            own = entity_id(unit_id, "synopsis", id)
            held.append(Holding(own, "synopsis", word.keeps, (id,)))
    return tuple(held)


def _kept(
    plan: NetworkPlan,
    operator: str,
    port: int,
    words: Mapping[str, DescribedOperator],
    names: Mapping[str, str],
) -> str:
    """What a synopsis in a store holds."""
    inputs = plan.operator(operator).inputs
    return words[operator].keeps if len(inputs) == 1 else names[inputs[port]]
