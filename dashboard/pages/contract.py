"""What a page is. Adding one: a module with ``PAGE = Page(...)`` and its line in ``PAGES``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dash import Dash
from dash.development.base_component import Component

from dashboard.context import Context
from dashboard.services import Services

Layout: TypeAlias = Callable[[Context, Services], Component]
Register: TypeAlias = Callable[[Dash, Services], None]
HasRecords: TypeAlias = Callable[[Context, Services], bool]


def always(context: Context, services: Services) -> bool:
    """A page that is worth showing for every run."""
    return True


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the dashboard.

    path: '/plan'. title: for the browser tab and the heading. label: in the navigation.
    icon: SVG path data in a 24 x 24 box, drawn as a 1.75 px line in the text's colour.
    key: second letter of the 'g' shortcut ('p' for g p). layout: the page at a context, complete
    enough to be read before any callback ran. register: its callbacks, once per app.
    has_records: False hides the navigation entry, so that no tab is ever empty.
    """

    path: str
    title: str
    label: str
    icon: str
    key: str
    layout: Layout
    register: Register
    has_records: HasRecords = always
