"""The login page: asks for the token once and keeps the answer in the session cookie.

It is needed only when the server is bound wider than this machine.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from flask import Flask, Response, redirect, request

from dashboard.base.prefix import below
from dashboard.serving.security import Guard, page_policy

PATH = "/login"
_LONGEST_TOKEN = 500
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Planwatch: log in</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center;
  min-height: 100vh; margin: 0; background: Canvas; color: CanvasText; }}
main {{ width: min(24rem, 90vw); }}
input, button {{ font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .75rem;
  margin-top: .5rem; border-radius: .4rem; border: 1px solid GrayText; }}
button {{ background: #1c5fb8; color: #fff; border-color: #1c5fb8; cursor: pointer; }}
[role=alert] {{ border-left: 4px solid #c92a2a; padding-left: .75rem; }}
</style>
</head>
<body>
<main>
<h1>Planwatch</h1>
{alert}
<form method="post" action="{action}?next={next}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus
 aria-describedby="where">
<p id="where">It was printed when the dashboard started, and is kept beside its store. The
viewer's token lets you look and change nothing.</p>
<button type="submit">Log in</button>
</form>
</main>
</body>
</html>
"""


def install(server: Flask, guard: Guard) -> None:
    """Serve the login page and its form."""

    @server.get(PATH)
    def login_page() -> Response:
        return _page(_next_path(), "")

    @server.post(PATH)
    def log_in() -> Response:
        role = guard.role_of(request.form.get("token", "")[:_LONGEST_TOKEN])
        if role is None:
            page = _page(_next_path(), "That is not the token.")
            page.status_code = 401
            return page
        there = {"Location": below(_next_path()), "Cache-Control": "no-store"}
        response = Response("", 303, there)
        guard.remember(response, guard.new_session(role), request)
        return response


def to_login() -> Response:
    """The way of a browser that may not read yet: to the login page, and back afterwards."""
    wanted = request.full_path.rstrip("?")
    answer = redirect(f"{below(PATH)}?next={quote(wanted, safe='')}", 303)
    return Response(answer.get_data(), answer.status_code, dict(answer.headers))


def _next_path() -> str:
    """Where to go after the login: a path on this server, nothing else."""
    path = request.args.get("next", "/")
    here = path.startswith("/") and not path.startswith(("//", "/\\"))
    clean = not any(ord(letter) < 32 for letter in path)
    return path if here and clean else "/"


def _page(next_path: str, alert: str) -> Response:
    words = f'<p role="alert">{escape(alert)}</p>' if alert else ""
    there = escape(quote(next_path, safe=""))
    html = _PAGE.format(alert=words, action=escape(below(PATH)), next=there)
    response = Response(html, mimetype="text/html")
    response.headers["Content-Security-Policy"] = page_policy()
    return response
