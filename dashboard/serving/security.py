"""Who may ask for what: hosts, origins, bearer token, session cookie, CSRF token, CSP.

Reading is open when the server is bound to this machine only, else it needs the bearer token, the
viewer's token, or the session of the login page. A change always needs the bearer token, or the
page's session cookie together with its CSRF token (header ``X-CSRF-Token``); who came with the
viewer's token changes nothing. All changes of the pages go through ``fetch()`` to ``/api/v1`` with
that header; Dash callbacks only read.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

from flask import Request, Response

from dashboard.base.prefix import below
from dashboard.serving.hosts import check_host_names, read_host, read_origin
from dashboard.serving.settings import SESSION_SECONDS, Settings, is_loopback

CSRF_HEADER = "X-CSRF-Token"
#: Who asks, as they call themselves, percent-encoded: shown, and trusted by nobody.
NAME_HEADER: Final = "X-Planwatch-Name"
LONGEST_NAME: Final = 40
CSRF_META = "csrf-token"
Level: TypeAlias = Literal["visitor", "viewer", "reader"]
LEVELS: Final = get_args(Level)
#: Why who came with the viewer's token can change nothing.
ONLY_VIEWS: Final = "You look on as a viewer: log in with the other token to change things."


class RequestRefused(Exception):
    """A request that is turned away. status: HTTP; code: one word; the message is a sentence.

    is_setup: what refuses it may be how the server was started, as the message says.
    """

    def __init__(self, status: int, code: str, message: str, is_setup: bool = False) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.is_setup = status, code, message, is_setup


@dataclass(frozen=True, slots=True)
class Session:
    """A browser's session, held in a signed cookie.

    level: after the login page 'reader', or 'viewer' who changes nothing; else 'visitor'. The CSRF
    token is bound to the id.
    """

    id: str
    level: Level


class Guard:
    """Checks requests against the settings; keeps no state, so a restart logs nobody out."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._allowed = check_host_names(settings.allowed_hosts)
        tokens = (settings.token + settings.viewer_token).encode()
        self._secret = hashlib.sha256(b"planwatch session" + tokens).digest()
        self.cookie = "planwatch_" + self._sign("cookie name")[:8]

    def check(self, request: Request) -> None:
        """Raise RequestRefused unless host and origin are right and reading is allowed."""
        self.check_host(request)
        self.check_origin(request)
        self.check_reading(request)

    def check_host(self, request: Request) -> None:
        """Raise RequestRefused (400) when the Host header names a machine this server is not.

        On loopback this stops DNS rebinding: a foreign name that resolves to 127.0.0.1.
        """
        if not self._settings.loopback:
            return
        host = read_host(request.host)
        if host is None:
            raise RequestRefused(400, "bad_host", "The request names no host that could be one.")
        if not is_loopback(host.name) and host.name not in {known.name for known in self._allowed}:
            what = f"This server does not answer to the host name {host.name}."
            raise RequestRefused(400, "bad_host", f"{what} {_advice(host.name)}", is_setup=True)

    def check_origin(self, request: Request) -> None:
        """Raise RequestRefused (403) for what another site's page sends through a browser.

        A page is of this site when it is from the host that the request is sent to, or from one
        that is allowed: a proxy may send its requests to another name.
        """
        if self.has_bearer(request):
            return
        site = request.headers.get("Sec-Fetch-Site", "none")
        opened = request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        if site not in ("same-origin", "none") and not opened:
            raise RequestRefused(403, "cross_site", "Requests from other sites are refused.")
        if "Origin" in request.headers and not opened:
            self._check_page(request.headers["Origin"], request.host)

    def _check_page(self, page: str, asked: str) -> None:
        """Raise RequestRefused (403) unless a page from there is one of this site."""
        origin, host = read_origin(page), read_host(asked)
        if origin is None or host is None:
            raise RequestRefused(403, "cross_site", "Requests from other sites are refused.")
        if not (origin.is_at(host) or origin.is_among(self._allowed)):
            what = f"Requests from other sites are refused: the page is from {origin}, and {host}"
            message = f"{what} was asked. {_advice(str(origin.shown))}"
            raise RequestRefused(403, "cross_site", message, is_setup=True)

    def check_reading(self, request: Request) -> None:
        """Raise RequestRefused (401) when reading needs a token and there is none."""
        if not self.may_read(request):
            raise RequestRefused(401, "token_needed", "Reading needs the bearer token or a login.")

    def may_read(self, request: Request) -> bool:
        """Whether reading is open, or the request carries a token or a login."""
        if self._settings.loopback or self.role_of(_bearer(request)) is not None:
            return True
        session = self.session(request)
        return session is not None and session.level != "visitor"

    def only_views(self, request: Request) -> bool:
        """Whether who asks came with the viewer's token."""
        session = self.session(request)
        by_login = session is not None and session.level == "viewer"
        return by_login or self.role_of(_bearer(request)) == "viewer"

    def check_change(self, request: Request) -> str:
        """Who asks for a change: 'api <address>' or 'page <address>', behind a name where one is
        given: 'Ann (page 10.0.0.2)'.

        Raises RequestRefused: 401 without bearer token or CSRF token, 403 for a viewer and when the
        server is read-only, 400 for a name that cannot be one.
        """
        if not self.has_bearer(request) and self.only_views(request):
            raise RequestRefused(403, "viewer", ONLY_VIEWS)
        if self.has_bearer(request):
            actor = f"api {request.remote_addr}"
        elif self.has_csrf(request):
            actor = f"page {request.remote_addr}"
        else:
            raise RequestRefused(
                401,
                "token_needed",
                f"A change needs 'Authorization: Bearer TOKEN' or the page's {CSRF_HEADER}.",
            )
        if self._settings.why_no_control:
            raise RequestRefused(403, "read_only", self._settings.why_no_control)
        name = _name_of(request)
        return f"{name} ({actor})" if name else actor

    def has_bearer(self, request: Request) -> bool:
        """Whether the request carries the bearer token."""
        return self.role_of(_bearer(request)) == "reader"

    def role_of(self, token: str) -> Level | None:
        """What a token lets one be; None: it is none (compared in constant time)."""
        given, viewers = token.strip().encode(), self._settings.viewer_token.encode()
        if hmac.compare_digest(given, self._settings.token.encode()):
            return "reader"
        return "viewer" if viewers and hmac.compare_digest(given, viewers) else None

    def has_csrf(self, request: Request) -> bool:
        """Whether the request carries the CSRF token of its own session cookie."""
        session = self.session(request)
        if session is None or not self.may_read(request):
            return False
        given = request.headers.get(CSRF_HEADER, "")
        return hmac.compare_digest(given.encode(), self.csrf_token(session).encode())

    def csrf_token(self, session: Session) -> str:
        """The CSRF token bound to a session."""
        return self._sign(f"csrf {session.level} {session.id}")

    def session(self, request: Request) -> Session | None:
        """The session of the request's cookie, or None without a cookie this server signed."""
        identity, _, rest = request.cookies.get(self.cookie, "").partition(".")
        level, _, signature = rest.partition(".")
        known: Level | None = next((allowed for allowed in LEVELS if allowed == level), None)
        if known is None:
            return None
        session = Session(identity, known)
        genuine = hmac.compare_digest(signature.encode(), self._signature(session).encode())
        return session if genuine else None

    def new_session(self, level: Level) -> Session:
        """A session nobody had before."""
        return Session(secrets.token_urlsafe(18), level)

    def remember(self, response: Response, session: Session, request: Request) -> None:
        """Put the session into the response's cookie: HttpOnly, SameSite=Strict, for the paths of
        this dashboard alone; Secure where the browser is known to ask by https."""
        value = f"{session.id}.{session.level}.{self._signature(session)}"
        response.set_cookie(
            self.cookie,
            value,
            max_age=SESSION_SECONDS,
            path=below("/").rstrip("/") or "/",
            secure=request.is_secure or request.headers.get("Origin", "").startswith("https://"),
            httponly=True,
            samesite="Strict",
        )

    def _signature(self, session: Session) -> str:
        return self._sign(f"session {session.level} {session.id}")

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else ""


def csrf_meta(guard: Guard, session: Session) -> dict[str, str]:
    """The page's meta tag: ``document.querySelector('meta[name=csrf-token]').content``."""
    return {"name": CSRF_META, "content": guard.csrf_token(session)}


def page_policy() -> str:
    """The Content-Security-Policy of pages: no inline script at all.

    Styles may be inline: plotly needs it.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self' 'unsafe-inline'",
            "connect-src 'self'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "object-src 'none'",
        )
    )


DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def secure_headers(response: Response) -> Response:
    """Add the headers every response carries; a policy that is already set stays."""
    response.headers.setdefault("Content-Security-Policy", DATA_POLICY)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("X-Frame-Options", "DENY")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    response.headers.setdefault(
        "Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()"
    )
    return response


def _advice(host: str) -> str:
    return f"If a proxy shows the dashboard there, start it with --allow-host {host}."


def _name_of(request: Request) -> str:
    """What who asks is called, ''. Raises RequestRefused (400)."""
    name = " ".join(unquote(request.headers.get(NAME_HEADER, "")).split())
    if len(name) > LONGEST_NAME or not name.isprintable():
        allowed = f"at most {LONGEST_NAME} printable characters, percent-encoded"
        raise RequestRefused(400, "bad_name", f"The name in {NAME_HEADER} is refused: {allowed}.")
    return name
