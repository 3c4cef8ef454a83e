"""Knobs that have no effect on a run as it is, and why. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dashboard.base.face import KnobNeed, told
from dashboard.views.knobs import FIRST
from storage.vocabulary.records import Knob

#: Scope and name of a knob -> why it has no effect.
Idle: TypeAlias = Mapping[tuple[str, str], str]
_RATE: Final = FIRST[0]
#: Of the engine's own: what turns the pace of streams with a rate.
_SPEED: Final = "speed"


def idle_knobs(
    knobs: Sequence[Knob], published: Mapping[str, frozenset[str]], unbid: frozenset[str]
) -> Idle:
    """Those without effect. published: unit -> properties its parts have; unbid: engine's knobs of
    pools for which nobody bids."""
    needs: Mapping[str, KnobNeed] = told("needs")
    values = {(knob.scope, knob.name): knob.value for knob in knobs}
    idle: dict[tuple[str, str], str] = {}
    for knob in knobs:
        need = needs.get(knob.name) if knob.scope in published else None
        why = "" if need is None else _missing(need, knob.scope, values, published)
        if not knob.scope and knob.name in unbid:
            why = "nobody bids for memory"
        if not knob.scope and knob.name == _SPEED and not _has_rate(knobs):
            why = "no stream has a rate"
        if why:
            idle[knob.scope, knob.name] = why
    return idle


def _missing(
    need: KnobNeed,
    scope: str,
    values: Mapping[tuple[str, str], object],
    published: Mapping[str, frozenset[str]],
) -> str:
    """Why, or ''."""
    is_asked = not need.beside or (scope, need.beside) in values
    if is_asked and need.property and need.property not in published[scope]:
        return need.why
    other = values.get((scope, need.knob))
    return need.why if need.knob and other is not None and other not in need.values else ""


def _has_rate(knobs: Sequence[Knob]) -> bool:
    return any(knob.name == _RATE and knob.value for knob in knobs)
