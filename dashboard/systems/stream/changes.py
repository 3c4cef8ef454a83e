"""How the chains of a plan are others than those before, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from dashboard.views.plan_changes import Nodes, properties

Chain: TypeAlias = frozenset[str]


def chain_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """Chains that were split, joined, cut elsewhere, or run in another order; nothing where the
    operators are others."""
    old, new = _chains(before), _chains(after)
    if not old or not new or set().union(*old) != set().union(*new):
        return
    gone, came = old.keys() - new.keys(), new.keys() - old.keys()
    whole: set[Chain] = set()
    for chains, others, words in (
        (gone, came, "chain {} was split in {}"),
        (came, gone, "{1} chains were joined to {0}"),
    ):
        for chain in sorted(chains, key=sorted):
            parts = [part for part in others if part < chain]
            if parts and frozenset().union(*parts) == chain:
                whole |= {chain, *parts}
                yield words.format(_ends(chain, after), len(parts))
    if elsewhere := came - whole:
        yield f"{len(elsewhere)} chain{'s are' if len(elsewhere) > 1 else ' is'} cut elsewhere"
    if not gone and not came and _order(old) != _order(new):
        yield "chains run in another order"


def _chains(nodes: Nodes) -> dict[Chain, Any]:
    """Operators by chain -> its number."""
    members: dict[Any, set[str]] = {}
    for id, node in nodes.items():
        number = properties(node).get("chain")
        if number is not None:
            members.setdefault(number, set()).add(id)
    return {frozenset(own): number for number, own in members.items()}


def _order(chains: dict[Chain, Any]) -> list[Chain]:
    return sorted(chains, key=lambda chain: chains[chain])


def _ends(chain: Chain, nodes: Nodes) -> str:
    """'σ a > 3 → count': by its first and last operator, as the plan lists them."""
    names = [str(node["name"]) for id, node in nodes.items() if id in chain]
    return names[0] if len(names) < 2 else f"{names[0]} → {names[-1]}"
