"""Ids of entities: unique in a run, opaque to whoever reads them; people see the name.

What belongs to a unit is qualified with the unit's id; sources, outputs and the engine's own entity
belong to the run.
"""

from __future__ import annotations

from typing import Final

#: The engine's own entity, which has the totals of the run.
SYSTEM: Final = "system"


def source_id(input: str) -> str:
    """The source of an input."""
    return f"input:{input}"


def source_queue(input: str) -> str:
    """What waits at the source of an input."""
    return f"input:{input}/queue"


def output_id(input: str) -> str:
    """Where matched tuples of an input go."""
    return f"output:{input}"


def entity_id(unit_id: str, role: str, name: str) -> str:
    """Something of a unit; ``name`` is unique among those of its role."""
    return f"{unit_id}/{role}:{name}"


def unit_entity(unit_id: str) -> str:
    """The unit itself, which has the samples that concern all of it."""
    return entity_id(unit_id, "system", "unit")


def profile_id(unit_id: str) -> str:
    """The profile window of a unit."""
    return entity_id(unit_id, "profile", "window")


def knob_entity(scope: str, role: str) -> str:
    """What a knob is shown with. scope: a unit, the source of an input, a single entity, '' for the
    engine; role: as in KnobSpec."""
    if not scope:
        return SYSTEM
    return {"system": unit_entity(scope), "profile": profile_id(scope)}.get(role, scope)


def output_queue(unit_id: str) -> str:
    """What a unit hands to the output."""
    return f"{unit_id}/output"
