"""Sets of knob values under a name, and what taking one would turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.components.names import words_of
from dashboard.views.knobs import value_words
from storage.vocabulary.planlog import AUTOPILOT, POLICY
from storage.vocabulary.records import Command, Json, Knob

AT_START: Final = "As the run began"
BEFORE_LAST: Final = "As before the last turn"


class Preset(NamedTuple):
    """values: (scope, knob) -> value. id: of the command that wrote it, None = always there."""

    name: str
    values: Mapping[tuple[str, str], Json]
    id: int | None = None


class PresetRow(NamedTuple):
    """A preset beside the values in force: differences, in words, and what to request for them."""

    name: str
    differences: list[str]
    turns: list[dict[str, Any]]
    id: int | None


def presets_of(
    noted: Iterable[Command],
    history: Sequence[Knob],
    commands: Iterable[Command],
    shipped: Mapping[str, Mapping[str, Json]],
) -> list[Preset]:
    """Those that are always there, then those people saved. history: oldest first. shipped: values
    by knob, of those that come with systems: for each scope with all of these knobs."""
    presets = [Preset(AT_START, _first_values(history))]
    by_scope: dict[str, set[str]] = {}
    for knob in history:
        by_scope.setdefault(knob.scope, set()).add(knob.name)
    for name, of_knobs in shipped.items():
        scopes = [scope for scope, names in by_scope.items() if of_knobs.keys() <= names]
        values = {(scope, knob): of_knobs[knob] for scope in scopes for knob in of_knobs}
        presets += [Preset(name, values)] * bool(values)
    turned = [c for c in commands if c.kind == "knob" and c.applied_batch is not None]
    if turned:
        last = max(turned, key=lambda turn: turn.id)
        key = (str(last.payload.get("scope") or ""), str(last.payload.get("knob")))
        presets.append(Preset(BEFORE_LAST, {key: last.old_value}))
    for note in noted:
        rows = note.payload.get("body", {}).get("values", ())
        values = {
            (str(row.get("scope") or ""), str(row.get("knob"))): row.get("value")
            for row in rows
            if isinstance(row, Mapping)
        }
        presets.append(Preset(str(note.payload.get("name")), values, note.id))
    return presets


def _first_values(history: Sequence[Knob]) -> dict[tuple[str, str], Json]:
    values: dict[tuple[str, str], Json] = {}
    for knob in history:
        values.setdefault((knob.scope, knob.name), knob.value)
    return values


def beside(run: str, presets: Iterable[Preset], knobs: Sequence[Knob]) -> list[PresetRow]:
    """Each preset beside the values in force, in its own order; knobs that are gone are left
    out. Back to the autopilot comes last: a threshold that is turned takes over from it."""
    rows, now = [], {(knob.scope, knob.name): knob for knob in knobs}
    for preset in presets:
        others = [
            (now[key], value)
            for key, value in preset.values.items()
            if key in now and now[key].value != value
        ]
        others.sort(key=lambda turn: (turn[0].name, turn[1]) == (POLICY, AUTOPILOT))
        words = [
            f"{words_of(knob.name)} {value_words(knob.value, knob.unit)}"
            f" → {value_words(value, knob.unit)}"
            for knob, value in others
        ]
        turns = [
            {
                "run": run,
                "knob": knob.name,
                "scope": knob.scope,
                "value": value,
                "version": knob.version,
            }
            for knob, value in others
        ]
        rows.append(PresetRow(preset.name, words, turns, preset.id))
    return rows


def saved_values(knobs: Sequence[Knob]) -> list[dict[str, Any]]:
    """The values in force, as a preset keeps them."""
    return [{"scope": knob.scope, "knob": knob.name, "value": knob.value} for knob in knobs]
