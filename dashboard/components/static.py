"""Static trees: many html elements as ONE Dash component.

Dash pays for every component at every store update: a table of 40 x 8 html cells made a step of
the moment take seconds. What no callback touches is therefore sent as plain data and drawn by
modules/static.js.
"""

from __future__ import annotations

import re
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.components.drawn import NAMESPACE, Drawn

_HTML: Final = "dash_html_components"
#: The space in '12 345', where no line may end.
_GROUPS: Final = re.compile(r"(?<=\d)[ \u2009](?=\d{3}(?!\d))")


class StaticTree(Drawn):
    """A tree drawn at once. tree: text, number, or [tag, properties, *children]."""

    _namespace = NAMESPACE
    _type = "Static"
    _names = ("id", "tree")

    def __init__(self, tree: Any, id: str | None = None) -> None:
        super().__init__(tree=tree, **({} if id is None else {"id": id}))


class NotStatic(TypeError):
    """A component that a callback may touch; it must stay a component of its own."""


def static(component: Component) -> Component:
    """The html tree as one component. Raises NotStatic for anything but html and own drawings."""
    return StaticTree(tree_of(component))


def tree_of(node: Any) -> Any:
    """What Static draws: [tag, properties, *children], text or number.

    Raises NotStatic for components of other libraries and for ids that are no text.
    """
    if isinstance(node, str):
        return _GROUPS.sub("\u202f", node)
    if node is None or isinstance(node, int | float):
        return node
    if not isinstance(node, Component):
        raise NotStatic(f"{type(node).__name__} cannot be drawn")
    described = node.to_plotly_json()  # type: ignore[no-untyped-call]  # dash has no types here
    properties = dict(described["props"])
    if "id" in properties and not isinstance(properties["id"], str):
        raise NotStatic(f"{described['type']} has the id {properties['id']!r}")
    children = _listed(properties.pop("children", None))
    kept = {name: value for name, value in properties.items() if value is not None}
    is_live = "data-live" in kept  # the page writes it again, in the spaces of formats.py
    drawn = (child if is_live and isinstance(child, str) else tree_of(child) for child in children)
    return [_tag(described), kept, *drawn]


def _tag(described: dict[str, Any]) -> str:
    if described["namespace"] == _HTML:
        return str(described["type"]).lower()
    if described["namespace"] == NAMESPACE:
        return f"@{described['type']}"
    raise NotStatic(f"{described['namespace']}.{described['type']} is not static")


def _listed(children: Any) -> list[Any]:
    """The children as one flat list."""
    if children is None:
        return []
    if not isinstance(children, list | tuple):
        return [children]
    return [
        part
        for child in children
        for part in (_listed(child) if isinstance(child, list | tuple) else [child])
    ]
