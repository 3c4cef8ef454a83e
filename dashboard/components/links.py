"""Jumps: links that move the moment (page, batch, node) and keep the rest of the URL.

They are real ``<a href>`` with data-pw-* attributes; modules/moment.js follows them without a page
load. Anything clickable may carry the attributes itself: ``**jump_data(at=12)``.
"""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs


def jump_data(
    path: str | None = None,
    at: int | str | None = None,
    node: str | None = None,
    unit: str | None = None,
    show: str | None = None,
) -> dict[str, Any]:
    """data-pw-* attributes for a jump. at='now' returns to now; node='' unpins."""
    fields = {"data-pw-path": path, "data-pw-at": at, "data-pw-node": node, "data-pw-unit": unit}
    fields["data-pw-show"] = show
    return {key: str(value) for key, value in fields.items() if value is not None}


def jump(
    context: Context,
    children: Any,
    path: str | None = None,
    at: int | str | None = None,
    node: str | None = None,
    unit: str | None = None,
    show: str | None = None,
    **attributes: Any,
) -> Component:
    """A link to a page and/or batch and/or node and/or unit at the moment of ``context``. show:
    what the page is narrowed to; '' = nothing."""
    changes = moved(at, node, unit)
    if show is not None:
        changes["show"] = show or None
    href = context.href(path or "", **changes) or "?"
    attributes.setdefault("className", "pw-link")
    return html.A(children, href=href, **jump_data(path, at, node, unit, show), **attributes)


def if_not_button(unit: str, seq: int) -> Component:
    """What begins the branch of a decision that keeps the plan before it (modules/if_not.js)."""
    return html.Button(
        "What if it had not?",
        type="button",
        className="pw-link pw-ifnot-ask",
        title="Replay the recorded tuples with the plan before kept, and compare",
        **attrs(data_pw_if_not=unit, data_pw_seq=seq),
    )


def saved_link(
    context: Context, what: str, name: str, show: str, id: int | None, is_shown: bool
) -> Component:
    """What somebody saved under a name, to be shown again and forgotten. what: it is, as in 'the
    query'; id: of the command that saved it, None = it cannot be forgotten; is_shown: it is now."""
    current = attrs(aria_current="true" if is_shown else None)
    link = jump(context, name, show=show, className="pw-chip-link", **current)
    if id is None:
        return html.Span([link])
    label = attrs(data_pw_forget=id, aria_label=f"Forget {what} {name}")
    return html.Span([link, html.Button("×", type="button", className="pw-link", **label)])


def moved(at: int | str | None, node: str | None, unit: str | None) -> dict[str, Any]:
    """The fields of a moment that a jump changes; None = stays."""
    changes: dict[str, Any] = {}
    if at is not None:
        changes |= {"at": None if at == "now" else int(at), "frozen": False}
    if node is not None:
        changes["node"] = node or None
    if unit is not None:
        changes["unit"] = unit
    return changes


def sql_link(context: Context, text: str) -> Component:
    """To the SQL page with the records behind a panel."""
    title = "The records behind this panel, on the SQL page"
    return jump(context, "SQL", "/sql", show=text, className="pw-button pw-sql-link", title=title)
