"""Operators of a network in words: role, name, and what there is to say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from backend.operators.network.core.plan import NetworkPlan
from storage.vocabulary.records import Json

#: Names are cut to so many characters; the whole is a fact.
LONGEST_NAME: Final = 48


@dataclass(frozen=True, slots=True)
class DescribedOperator:
    """An operator in words. name: unique in its plan, without a slash; keeps: what its synopsis
    holds, '' for operators without state; facts: everything else."""

    id: str
    role: str
    name: str
    keeps: str
    facts: Mapping[str, Json]


def described(plan: NetworkPlan) -> dict[str, DescribedOperator]:
    """All operators of a plan that are no inputs, by id."""
    by_id = {operator.id: operator for operator in plan.operators}
    readers, sharded = plan.readers(), _sharded(plan)
    words: dict[str, DescribedOperator] = {}
    taken: dict[str, int] = {}
    for operator in plan.operators:
        if not operator.inputs:
            continue
        columns = [[f.name for f in by_id[input].fields] for input in operator.inputs]
        work, text = operator.work, operator.work.text(columns)
        facts = {"text": text, **work.facts(columns), "queries": readers[operator.id]}
        facts |= sharded.get(operator.id, {})
        name = _unique(_short(text), taken)
        words[operator.id] = DescribedOperator(operator.id, work.role, name, work.keeps, facts)
    return words


def _sharded(plan: NetworkPlan) -> dict[str, dict[str, Json]]:
    """Operator -> the key that says its shard (of each input), and why."""
    by_id = {operator.id: operator for operator in plan.operators}
    shard_facts: dict[str, dict[str, Json]] = {}
    for group in plan.groups:
        inputs = [(by_id[id], place) for id, place in group.keys.items()]
        key = {operator.work.reads: operator.fields[place].name for operator, place in inputs}
        for id in group.operators:
            shard_facts[id] = {"shard_key": key, "shard_why": group.why}
    return shard_facts


def _unique(name: str, taken: dict[str, int]) -> str:
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else _unique(f"{name} ({taken[name]})", taken)


def _short(text: str) -> str:
    name = text.replace("/", "÷")
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
