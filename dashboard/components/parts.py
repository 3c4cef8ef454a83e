"""Parts of a page that callbacks draw again without losing focus, scroll place or open folds.

Dash mounts new ``children`` from scratch; a new ``tree`` of the same Static component is compared
with the old one by React, and only what differs is touched.
"""

from __future__ import annotations

from typing import Any, Final

from dash import Output, html

from dashboard.components.static import StaticTree, tree_of

PROPERTY: Final = "tree"


def part(name: str, content: Any, className: str = "") -> StaticTree:
    """The part called ``name`` with its first content (html and own drawings only)."""
    return StaticTree(part_tree(name, content, className), id=name)


def part_tree(name: str, content: Any, className: str = "") -> Any:
    """New content of the part, for its output. className: the same as at first."""
    return tree_of(html.Div(content, id=name, className=className))


def part_output(name: str) -> Output:
    """The output that takes :func:`part_tree`."""
    return Output(name, PROPERTY)
