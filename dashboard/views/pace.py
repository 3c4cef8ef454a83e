"""Whether a run goes on by itself, as the header shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dashboard.views.book import SYSTEM
from storage.vocabulary.records import Entity, Json, Knob


class PaceShown(NamedTuple):
    """held: why no batch begins, '' while they do. steps: what one step can be. speed: factor on
    the rates of replayed streams, None where the run has none. locked: why nothing can be asked."""

    held: str = ""
    steps: tuple[str, ...] = ()
    speed: float | None = None
    locked: str = ""


def held_of(entities: Iterable[Entity]) -> str:
    """Why a run is held, '' when it is not."""
    return str(
        next((entity.properties.get("held", "") for entity in entities if entity.id == SYSTEM), "")
    )


def build_pace(entities: Iterable[Entity], knobs: Iterable[Knob], locked: str) -> PaceShown:
    """Of a run, as of now."""
    engine: Json = next((entity.properties for entity in entities if entity.id == SYSTEM), {})
    speed = next((k.value for k in knobs if k.name == "speed" and not k.scope), None)
    steps = tuple(map(str, engine.get("steps", ())))
    return PaceShown(str(engine.get("held", "")), steps, speed, locked)
