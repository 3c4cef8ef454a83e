"""Components drawn by our own JavaScript in assets/ (no build step): icon, graph, chart, knob.

The JavaScript registers them as ``window.planwatch_components``; Dash finds them by namespace.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.components.formats import Format, with_mu
from dashboard.components.names import words_of
from storage.vocabulary.records import Command, Knob

NAMESPACE: Final = "planwatch_components"
#: Dash looks for a module of this name with each property of a component: a search along the whole
#: path, in vain, was a fifth of the time that a page took.
sys.modules.setdefault(NAMESPACE, ModuleType(NAMESPACE))


class Drawn(Component):
    """What Dash wants to know of a component: its namespace, type and property names."""

    _names: tuple[str, ...] = ()

    def __init__(self, **properties: Any) -> None:
        self._prop_names = list(self._names)
        self._valid_wildcard_attributes: list[str] = []
        self.available_properties = list(self._names)
        self.available_wildcard_properties: list[str] = []
        super().__init__(**properties)  # type: ignore[no-untyped-call]  # dash's base is untyped


class PanelDrawing(Drawn):
    """A drawing of a run that its panel fills whenever it is drawn.

    run: id of the run. drawing: what is drawn, None = nothing yet. disabled: why knobs cannot be
    turned now, or ''.
    """

    _namespace = NAMESPACE
    _names = ("id", "run", "drawing", "disabled")

    def __init__(self, id: str) -> None:
        super().__init__(id=id, run="", drawing=None, disabled="")

    @classmethod
    def filled(cls, id: str) -> tuple[tuple[str, str], ...]:
        """The properties that the panel gives."""
        return tuple((id, name) for name in cls._names[1:])


class Icon(Drawn):
    """A line drawing: SVG path data in a 24 x 24 box, in the colour of the text around it."""

    _namespace = NAMESPACE
    _type = "Icon"
    _names = ("path", "size")

    def __init__(self, path: str, size: int = 18) -> None:
        super().__init__(path=path, size=size)


class Segments(Drawn):
    """One of a few choices, all in sight. choices: (value, words); label: for screen readers."""

    _namespace = NAMESPACE
    _type = "Segments"
    _names = ("id", "label", "value", "choices")

    def __init__(self, id: str, label: str, value: str, choices: Iterable[tuple[str, str]]) -> None:
        super().__init__(
            id=id, label=label, value=value, choices=[list(choice) for choice in choices]
        )


class PlanDrawing(Drawn):
    """The plan as cards and edges; see modules/plan_graph.js.

    plan: dashboard.views.plan.graph_plan. values: of one batch, by entity; a number for what has a
    size only. sparks: id -> the last 24 numbers. spreads: dashboard.views.spreads.build_spreads.
    selected: the pinned node, or ''. refuted: construct -> share of the queries still open that it
    refutes.
    """

    _namespace = NAMESPACE
    _type = "PlanGraph"
    _names = ("id", "plan", "values", "sparks", "spreads", "batch", "selected", "refuted")

    def __init__(
        self,
        id: str,
        refuted: Mapping[str, float | None],
        plan: Mapping[str, Any],
        values: Mapping[str, Any],
        sparks: Mapping[str, Sequence[float]],
        spreads: Mapping[str, Any],
        batch: int | None,
        selected: str = "",
    ) -> None:
        super().__init__(
            id=id,
            plan=plan,
            values=values,
            sparks=sparks,
            spreads=spreads,
            batch=batch,
            selected=selected,
            refuted=refuted,
        )


class HistoryChart(Drawn):
    """One property over batches: points are (batch, value); follows the stream while LIVE."""

    _namespace = NAMESPACE
    _type = "HistoryChart"
    _names = ("id", "title", "unit", "form", "entity", "property", "points", "at", "height")

    def __init__(
        self,
        id: str,
        title: str,
        entity: str,
        property: str,
        points: Sequence[tuple[int, float | None]],
        unit: str = "",
        form: Format = "f2",
        at: int | None = None,
        height: int = 104,
    ) -> None:
        super().__init__(
            id=id,
            title=title,
            unit=unit,
            form=form,
            entity=entity,
            property=property,
            points=[list(point) for point in points],
            at=at,
            height=height,
        )


class Rolling(Drawn):
    """A text whose digits roll to their new places when it changes."""

    _namespace = NAMESPACE
    _type = "Rolling"
    _names = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__(text=text)


class GainCurve(Drawn):
    """What adapting came to, as a small area: points are (batch, value, low, high); low and high,
    the 95 % band, may be unknown."""

    _namespace = NAMESPACE
    _type = "GainCurve"
    _names = ("points", "what", "form", "tone")

    def __init__(
        self,
        points: Sequence[tuple[int, float, float | None, float | None]],
        what: str,
        form: Format,
        tone: str,
    ) -> None:
        drawn = [[_short(number) for number in point] for point in points]
        super().__init__(points=drawn, what=what, form=form, tone=tone)


def _short(number: float | None) -> float | None:
    """Four significant digits: a curve shows no more."""
    return None if number is None else number if isinstance(number, int) else float(f"{number:.4g}")


class KnobCard(Drawn):
    """One knob: slider, exact box, reason, apply, and the engine's answer.

    disabled: why it cannot be turned now, or ''. compact: the small form of the inspector.
    pending: the request still waiting for the engine, which the card goes on following.
    restart: the command for another value of one that is fixed for a run, else ''.
    """

    _namespace = NAMESPACE
    _type = "KnobCard"
    _names = ("id", "run", "knob", "disabled", "compact", "pending", "restart")

    def __init__(
        self,
        id: Any,
        run: str,
        knob: Knob,
        disabled: str = "",
        compact: bool = False,
        pending: Command | None = None,
        restart: str = "",
    ) -> None:
        waiting = None
        if pending is not None:
            waiting = {"id": pending.id, "value": pending.payload.get("value")}
        super().__init__(
            id=id,
            run=run,
            knob=knob_row(knob),
            disabled=disabled,
            compact=compact,
            pending=waiting,
            restart=restart,
        )


def knob_row(knob: Knob) -> dict[str, Any]:
    """A knob as the card reads it."""
    return {
        "name": knob.name,
        "title": words_of(knob.name),
        "scope": knob.scope,
        "kind": knob.kind,
        "value": knob.value,
        "default": knob.default,
        "unit": "" if knob.unit == "prob" else with_mu(knob.unit),
        "help": knob.help,
        "low": knob.low,
        "high": knob.high,
        "scale": knob.scale,
        "choices": list(knob.choices),
        "version": knob.version,
        "batch": knob.batch,
    }
