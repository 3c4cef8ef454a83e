"""Parts of a page that callbacks draw again without losing focus, scroll place or open folds.

Dash mounts new ``children`` from scratch; a new ``tree`` of the same Static component is compared
with the old one by React, and only what differs is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash import Output, html

from dashboard.components.attributes import attrs
from dashboard.components.static import StaticTree, tree_of

PROPERTY: Final = "tree"


def part(name: str, content: Any, className: str = "", **stamp: Any) -> StaticTree:
    """The part called ``name`` with its first content (html and own drawings only). stamp: see
    :func:`as_of`."""
    return StaticTree(part_tree(name, content, className, **stamp), id=name)


def part_tree(name: str, content: Any, className: str = "", **stamp: Any) -> Any:
    """New content of the part, for its output. className: the same as at first."""
    return tree_of(html.Div(content, id=name, className=className, **stamp))


def as_of(batch: int | None, news: Sequence[str] = ()) -> dict[str, Any]:
    """Attributes of what is of a batch, which it says once the page shows another one; see
    modules/stamps.js. news: kinds of records that alone make it older, () = each batch does."""
    given = attrs(data_as_of="" if batch is None else batch)
    return given | (attrs(data_news=" ".join(news)) if news else {})


def part_output(name: str) -> Output:
    """The output that takes :func:`part_tree`."""
    return Output(name, PROPERTY)
