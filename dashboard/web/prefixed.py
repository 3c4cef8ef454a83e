"""Requests that a proxy sends with its path prefix, or with the prefix taken off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Prefixed:
    """An application below a prefix ('/pw'): what it answers at '/plan' is asked for at '/pw/plan',
    or at '/plan' by a proxy that takes the prefix off. Either way it sees '/plan', and
    dashboard.base.prefix.below knows the rest."""

    def __init__(self, application: WSGIApplication, prefix: str) -> None:
        self._application = application
        self._prefix = prefix.encode().decode("latin-1")  # as WSGI has paths

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a request. Of several slashes at the begin, which proxies leave, one counts."""
        path = f"/{environ.get('PATH_INFO', '').lstrip('/')}"
        if f"{path}/".startswith(f"{self._prefix}/"):
            path = path[len(self._prefix) :] or "/"
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = self._prefix, path
        return self._application(environ, start)
