"""A network's plan as text: the operators of each query, and what is spread over shards how."""

from __future__ import annotations

from collections.abc import Iterator

from backend.operators.network.plan import NetworkPlan
from backend.systems.stream.compiling import kind_of
from backend.systems.stream.describing import described


def explain(plan: NetworkPlan) -> str:
    """Each query with its operators, inputs indented below them, and why its shards are as they
    are. What several queries share stands below each, with the others' names."""
    lines: list[str] = []
    why = {id: group.why for group in plan.groups for id in group.operators}
    for query, answer in plan.answers.items():
        lines.append(f"{query} answers a {'stream' if answer.is_stream else 'relation'}. ")
        lines[-1] += why[answer.operator]
        lines += _lines(plan, answer.operator, query, 1)
    return "\n".join(lines)


def _lines(plan: NetworkPlan, id: str, query: str, depth: int) -> Iterator[str]:
    one, facts = plan.operator(id), described(plan)[id].facts
    kind, text = kind_of(one.work, len(one.inputs)), facts["text"]
    readers = facts["queries"]
    assert isinstance(readers, list)
    others = [str(name) for name in readers if name != query]
    key = next((group.keys[id] for group in plan.groups if id in group.keys), None)
    said = "" if key is None else f", by {one.fields[key].name}"
    said += f", also for {' and '.join(others)}" if others else ""
    yield f"{'  ' * depth}{kind} {text}{said}"
    for input in one.inputs:
        yield from _lines(plan, input, query, depth + 1)
