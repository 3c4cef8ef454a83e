"""A network's plan as text: the operators of each query, and what is spread over shards how."""

from __future__ import annotations

from collections.abc import Iterator

from backend.operators.network.core.plan import NetworkPlan
from backend.systems.stream.describing import described


def explain(plan: NetworkPlan) -> str:
    """Each query with its operators, inputs indented below them, and why its shards are as they
    are. What several queries share stands below each, with the others' names."""
    lines: list[str] = []
    why = {id: group.why for group in plan.groups for id in group.operators}
    words, readers = _words(plan), plan.readers()

    def below(id: str, query: str, depth: int) -> Iterator[str]:
        others = [name for name in readers[id] if name != query]
        also = f", also for {' and '.join(others)}" if others else ""
        yield f"{'  ' * depth}{words[id]}{also}"
        for input in plan.operator(id).inputs:
            yield from below(input, query, depth + 1)

    for query, answer in plan.answers.items():
        kind = "stream" if answer.is_stream else "relation"
        lines.append(f"{query} answers a {kind}. {why[answer.operator]}")
        lines += below(answer.operator, query, 1)
    return "\n".join(lines)


def _words(plan: NetworkPlan) -> dict[str, str]:
    """Each operator's name and what it does; of an input also the key of its shards."""
    operators = described(plan)
    keys = {id: place for group in plan.groups for id, place in group.keys.items()}
    words = {}
    for operator in plan.operators:
        kind = operator.work.named(len(operator.inputs))
        if operator.work.reads:
            key = f", by {operator.fields[keys[operator.id]].name}" if operator.id in keys else ""
            words[operator.id] = f"{kind} {operator.work.reads}{key}"
        else:
            words[operator.id] = f"{kind} {operators[operator.id].facts['text']}"
    return words
