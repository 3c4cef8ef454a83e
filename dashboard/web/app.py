"""The web application: Dash on its Flask server, with the API, the live stream and the guards."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from dash import Dash
from dash.development.base_component import Component
from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from dashboard import systems
from dashboard.api import routes
from dashboard.api.registry import install, respond
from dashboard.base import face
from dashboard.base.prefix import below, quoted
from dashboard.pages import Page, all_pages
from dashboard.serving import compression
from dashboard.serving.bundle import ASSETS, Bundle
from dashboard.serving.errors import ApiError, error_body
from dashboard.serving.security import Guard, RequestRefused, csrf_meta, page_policy, secure_headers
from dashboard.serving.services import Services
from dashboard.web import callbacks, login
from dashboard.web.prefixed import Prefixed
from dashboard.web.shell import HEADER_PX, NAV_PX, build_shell, register_shell
from storage.errors import BadRecord, StoreError

LOGGER = logging.getLogger(__name__)
TITLE = "Planwatch"
#: Different refusals that the log has, each once: who asks under ever new names fills no disk.
_MOST_TOLD = 50
_OPEN_PATHS = ("/healthz", login.PATH)
LONGEST_BODY_BYTES = 2 * 1024 * 1024
_INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
{%favicon%}
{%css%}
</head>
<body>
{%app_entry%}
<footer>
{%config%}
{%scripts%}
{%renderer%}
</footer>
</body>
</html>"""


@dataclass(frozen=True, slots=True)
class Shell:
    """What is drawn: a function of the services giving the layout, and one that adds callbacks."""

    layout: Callable[[Services], Component]
    register: Callable[[Dash, Services], None]
    pages: tuple[Page, ...] = ()


class PlanwatchDash(Dash):
    """Dash whose index page carries the CSRF token, paints a skeleton at once and runs modules.

    bundle: its scripts and styles.
    """

    def __init__(self, guard: Guard, shell: Shell, **options: Any) -> None:
        super().__init__(**options)
        self._guard, self._pages = guard, shell.pages
        self.bundle = Bundle(self._generate_scripts_html())

    def interpolate_index(self, *args: Any, **parts: Any) -> str:
        """The index page of one request."""
        session = self._guard.session(request)
        if session is None:
            session = g.new_session = self._guard.new_session("visitor")
        meta = csrf_meta(self._guard, session)
        metas = (meta, {"name": "path-prefix", "content": escape(below(""))})
        tags = (f'<meta name="{tag["name"]}" content="{tag["content"]}">' for tag in metas)
        parts["metas"] = "\n".join((parts["metas"], *tags))
        with_figures = any(page.path == request.path and page.has_figures for page in self._pages)
        parts["app_entry"] += skeleton(tuple(page.nav_label for page in self._pages))
        parts["css"] = "\n".join((_font_tag(), self.bundle.head(with_figures), parts["css"]))
        parts["scripts"], parts["renderer"] = self.bundle.library(), self.bundle.start()
        html: str = super().interpolate_index(*args, **parts)  # type: ignore[no-untyped-call]  # Dash
        return html


def page_names() -> list[str]:
    """The first parts of the pages' paths, those of all systems included."""
    face.use(systems.FACES)
    return [page.path[1:] for page in all_pages()]


def create_app(services: Services, shell: Shell | None = None) -> Dash:
    """The application: pages, /api/v1, /live, /metrics and /healthz. Serve ``app.server``."""
    face.use(systems.FACES)
    shell = shell or Shell(build_shell, register_shell, all_pages())
    guard = Guard(services.settings)
    server = Flask(__name__, static_folder=None)
    server.config["MAX_CONTENT_LENGTH"] = LONGEST_BODY_BYTES
    prefix = services.settings.prefix
    server.wsgi_app = Prefixed(server.wsgi_app, prefix)  # type: ignore[assignment, method-assign]  # Flask's way
    _guard_requests(server, guard)
    _answer_errors(server)
    login.install(server, guard)
    install(server, services, guard, routes.ROUTES)
    app = PlanwatchDash(
        guard,
        shell,
        name=__name__,
        server=server,
        routes_pathname_prefix="/",
        requests_pathname_prefix=f"{quoted(prefix)}/",
        assets_folder=str(ASSETS),
        assets_ignore=r"\.(js|css)$",
        serve_locally=True,
        title=TITLE,
        update_title=None,
        index_string=_INDEX,
        add_log_handler=False,
        enable_mcp=False,
    )
    app.bundle.install(server)
    app.layout = lambda: shell.layout(services)
    shell.register(app, services)
    callbacks.install(server, app)
    _dress_responses(server, guard, services.settings.loopback)
    # Dash would do this within the first request; a second one beside it got a page without scripts
    with server.test_request_context("/"):
        app._setup_server()  # type: ignore[no-untyped-call]  # dash has no types here
    return app


def _font_tag() -> str:
    there = below("/assets/vendor/inter.woff2?m=4.1.1")
    return f'<link rel="preload" as="font" type="font/woff2" crossorigin href="{there}">'


def skeleton(pages: tuple[str, ...]) -> str:
    """What is on screen until the layout arrives: the page's frame, without a script.

    It stands beside the entry point and hides by CSS as soon as Dash's loading mark is gone. What
    to do when that stays is said after a while, and at once where assets/late_boot.js knows more.
    """
    entries = "".join(f"<span>{escape(label)}</span>" for label in pages)
    return (
        f"<style>{_SKELETON_CSS}</style>"
        '<div class="pw-skeleton" aria-hidden="true">'
        f"<header>{TITLE}</header><nav>{entries}</nav><div><i></i><i></i><i></i></div></div>"
        f'<p id="pw-late" role="alert">{_LATE}</p>'
    )


_LATE = (
    "This page is not all here yet. If it stays so, its scripts do not come: where a proxy shows "
    "the dashboard, it is started with --allow-host NAME, and with --prefix /PATH where the proxy "
    "puts a path before the dashboard's own."
)
_SKELETON_CSS = (
    ":root{color-scheme:light dark}._dash-loading{position:absolute;clip-path:inset(50%)}"
    ".pw-skeleton{display:none}body:has(._dash-loading) .pw-skeleton{display:grid;"
    f"grid-template:{HEADER_PX}px 1fr/{NAV_PX['base']}px 1fr;position:fixed;inset:0;"
    "font:13px/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}"
    ".pw-skeleton header{grid-column:1/3;padding:16px 20px;font-weight:600;"
    "border-bottom:1px solid #8884}.pw-skeleton nav{align-content:start;gap:16px;padding:20px;"
    "border-right:1px solid #8884}.pw-skeleton span{display:none}.pw-skeleton div{padding:20px}"
    ".pw-skeleton i{display:block;height:22vh;margin-bottom:16px;border-radius:8px;"
    "background:#8882}@media(min-width:72em){body:has(._dash-loading) .pw-skeleton{"
    f"grid-template:{HEADER_PX}px 1fr/{NAV_PX['xl']}px 1fr}}.pw-skeleton nav{{display:grid}}"
    ".pw-skeleton span{display:block}}#pw-late{display:none;position:fixed;z-index:99;"
    "inset:auto 20px 20px;margin:0;padding:14px 18px;font:13px/1.5 system-ui,sans-serif;"
    "color:CanvasText;background:Canvas;border:1px solid;border-left:4px solid #c92a2a}"
    "body:has(._dash-loading) #pw-late{display:block;visibility:hidden;"
    "animation:pw-late 0s 10s forwards}#pw-late[data-told]{display:block;"
    "visibility:visible!important}@keyframes pw-late{to{visibility:visible}}"
)


def _guard_requests(server: Flask, guard: Guard) -> None:
    @server.before_request
    def _check() -> None:
        guard.check_host(request)
        guard.check_origin(request)
        if request.path not in _OPEN_PATHS:
            guard.check_reading(request)


def _answer_errors(server: Flask) -> None:
    logged: set[str] = set()

    @server.errorhandler(RequestRefused)
    def _refused(error: RequestRefused) -> Response:
        if error.is_setup and error.message not in logged and len(logged) < _MOST_TOLD:
            logged.add(error.message)
            LOGGER.warning("%s", error.message)
        if error.status == 401 and _is_browser_page():
            return login.to_login()
        response = respond(error_body(error.code, error.message), error.status)
        if error.status == 401:
            response.headers["WWW-Authenticate"] = 'Bearer realm="planwatch"'
        return response

    @server.errorhandler(ApiError)
    def _api_error(error: ApiError) -> Response:
        response = respond(error_body(error.code, error.message, **error.details), error.status)
        if error.status == 503:
            response.headers["Retry-After"] = str(error.details.get("retry_after_s", 2))
        return response

    @server.errorhandler(StoreError)
    def _store_error(error: StoreError) -> Response:
        if isinstance(error, BadRecord):
            return _api_error(ApiError(422, "bad_record", f"The store refuses it: {error}."))
        return _api_error(ApiError(503, "store_unavailable", f"The store cannot be read: {error}."))

    @server.errorhandler(HTTPException)
    def _http_error(error: HTTPException) -> Response:
        code = error.name.lower().replace(" ", "_")
        response = respond(error_body(code, error.description or error.name), error.code or 500)
        for name, value in error.get_headers():
            if name not in ("Content-Type", "Content-Length"):
                response.headers[name] = value
        return response


def _is_browser_page() -> bool:
    return request.method == "GET" and request.accept_mimetypes.best == "text/html"


def _dress_responses(server: Flask, guard: Guard, shared_cache: bool) -> None:
    @server.after_request
    def _dress(response: Response) -> Response:
        if response.mimetype == "text/html":
            response.headers.setdefault("Content-Security-Policy", page_policy())
        if "new_session" in g:
            guard.remember(response, g.new_session, request)
        return secure_headers(response)

    compression.install(server, shared_cache)
