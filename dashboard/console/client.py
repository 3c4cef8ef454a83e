"""The API of a dashboard, as a program on any machine speaks it."""

from __future__ import annotations

import json
from http.cookiejar import CookieJar
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

TIMEOUT_S: Final = 10.0


class Unanswered(Exception):
    """The dashboard refused or could not be reached; the message is one sentence."""


class ApiClient:
    """Speaks to the dashboard at ``address`` ("http://127.0.0.1:8050"). token: the bearer token; on
    the dashboard's own machine none is needed."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address, self._token = address.rstrip("/"), token
        self._csrf: dict[str, str] = {}
        # a proxy of the surroundings is not for a server named by its address
        self._opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))

    def get(self, *path: str, **query: object) -> Any:
        """What the API answers. path: parts behind /api/v1. Raises Unanswered."""
        return self._ask("GET", path, query)

    def change(self, method: str, *path: str, body: object = None, **query: object) -> Any:
        """Request a change: the command, in state 'requested'. Raises Unanswered."""
        if not self._token and not self._csrf:
            csrf = self.get("csrf")
            self._csrf = {csrf["header"]: csrf["token"]}
        return self._ask(method, path, query, body)

    def _ask(
        self, method: str, path: tuple[str, ...], query: dict[str, object], body: object = None
    ) -> Any:
        parts = "/".join(quote(part, safe="") for part in path)
        words = urlencode({name: value for name, value in query.items() if value is not None})
        url = f"{self.address}/api/v1/{parts}" + (f"?{words}" if words else "")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        headers |= self._csrf if method != "GET" else {}
        try:
            asked = Request(url, data, headers, method=method)  # an address people give
            with self._opener.open(asked, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except HTTPError as error:
            raise Unanswered(_sentence(error)) from error
        except (URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unanswered(f"No dashboard answers at {self.address}: {reason}.") from error


def _sentence(error: HTTPError) -> str:
    try:
        return str(json.load(error)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"The dashboard answered {error.code} {error.reason}."
