"""The path that a proxy puts before the dashboard's own paths: links lead below it."""

from __future__ import annotations

from urllib.parse import quote

from flask import has_request_context, request


def quoted(prefix: str) -> str:
    """A prefix as it stands in an address."""
    return quote(prefix)


def below(path: str) -> str:
    """The address of one of the dashboard's paths ('/plan'), as the browser has to ask for it that
    is being answered: '/pw/plan' where a proxy shows the dashboard below '/pw'."""
    return quoted(request.script_root) + path if has_request_context() else path
