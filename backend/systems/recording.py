"""What decision cores come to, as a unit hands it to the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from backend.model.ids import output_id, output_queue, source_id, source_queue
from backend.systems.contract import Recorded
from storage.vocabulary.graph import PlanGraph, PlanNode, chain
from storage.vocabulary.records import Decision, DecisionOutcome, Event, PlanVersion, Sample

Adopted = TypeVar("Adopted")


def recorded(
    instructions: Iterable[Adopted | Decision | DecisionOutcome | Event],
    plan_version: Callable[[Adopted], PlanVersion],
) -> Recorded:
    """Plans, decisions, outcomes and events of a core's instructions."""
    plans, decisions, outcomes, events = [], [], [], []
    for instruction in instructions:
        if isinstance(instruction, Decision):
            decisions.append(instruction)
            events += decision_event(instruction)
        elif isinstance(instruction, DecisionOutcome):
            outcomes.append(instruction)
        elif isinstance(instruction, Event):
            events.append(instruction)
        else:
            plans.append(plan_version(instruction))
    return Recorded(tuple(plans), tuple(decisions), tuple(outcomes), tuple(events))


def decision_event(d: Decision) -> list[Event]:
    """The mark of an evaluation that came to something, or was held back."""
    if d.verdict == "switched":
        return [Event("rearrangement", "plan changed", d.explanation, ref={"decision": d.seq})]
    if d.verdict in ("kept", "cooldown"):
        return [Event("held back", d.verdict, d.explanation, ref={"decision": d.seq})]
    return []


def pipeline(unit_id: str, input: str, operators: Sequence[tuple[PlanNode, str]]) -> PlanGraph:
    """The plan of operators one behind the other, from the source of an input to its output.

    operators: nodes, each with the queue in front of it; the first takes from the source's queue.
    """
    source = PlanNode(source_id(input), "source", input)
    output = PlanNode(output_id(input), "output", "Output")
    queues = [source_queue(input), *(queue for _, queue in operators[1:])]
    if operators:
        queues.append(output_queue(unit_id))
    return chain([source, *(node for node, _ in operators), output], queues)


def samples_of(entity: str, values: dict[str, tuple[float | None, str]]) -> list[Sample]:
    """Samples of one entity: property -> (value, unit)."""
    return [Sample(entity, name, value, unit) for name, (value, unit) in values.items()]
