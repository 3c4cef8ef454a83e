"""Who gets in: hosts, origins, tokens, sessions, headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import Cookie

from dashboard.serving.settings import Settings, is_loopback
from tests.unit.dashboard_server.site import BEARER, TOKEN, Site, csrf, open_site

COMMANDS = "/api/v1/runs/r1/commands"
KNOB = {"knob": "mu", "value": 0.2}


def only_cookie(browser: FlaskClient) -> Cookie:
    (cookie,) = (browser._cookies or {}).values()
    return cookie


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8050", 200),
        ("127.0.0.1", 200),
        ("[::1]:8050", 200),
        ("127.8.8.8:1", 200),
        ("evil.example", 400),
        ("evil.example:8050", 400),
        ("127.0.0.1.evil.example", 400),
        ("localhost.evil.example", 400),
        ("", 400),
    ],
)
def test_a_foreign_host_name_is_refused_on_loopback(quiet: Site, host: str, status: int) -> None:
    browser = quiet.browser()
    assert browser.get("/api/v1/runs", headers={"Host": host}).status_code == status
    assert browser.get("/healthz", headers={"Host": host}).status_code == status


def test_a_proxys_name_can_be_allowed(tmp_path: Path) -> None:
    with open_site(tmp_path, allowed_hosts=("plans.example",)) as site:
        browser = site.browser()
        assert browser.get("/api/v1/runs", headers={"Host": "plans.example"}).status_code == 200
        assert browser.get("/api/v1/runs", headers={"Host": "other.example"}).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize("path", ["/_dash-update-component", COMMANDS, "/login"])
def test_another_sites_page_cannot_post(quiet: Site, path: str, headers: dict[str, str]) -> None:
    browser = quiet.browser()
    token = csrf(browser)
    answer = browser.post(path, json=KNOB, headers=headers | token)
    assert answer.status_code == 403
    assert answer.get_json()["error"]["code"] == "cross_site"


def test_another_site_can_link_here_but_not_read(quiet: Site) -> None:
    browser = quiet.browser()
    foreign = {"Sec-Fetch-Site": "cross-site"}
    opened = foreign | {"Sec-Fetch-Mode": "navigate"}
    assert browser.get("/", headers=opened).status_code == 200
    for path in ("/api/v1/runs", "/live?run=r1", "/_dash-layout"):
        assert browser.get(path, headers=foreign | {"Sec-Fetch-Mode": "cors"}).status_code == 403


def test_the_own_page_is_served(site: Site) -> None:
    browser = site.browser()
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}
    assert browser.post(COMMANDS, json=KNOB, headers=own | csrf(browser)).status_code == 202


def test_the_index_page_carries_the_csrf_token_of_its_session(site: Site) -> None:
    browser = site.browser()
    page = browser.get("/")
    found = re.search(r'<meta name="csrf-token" content="(\w+)">', page.text)
    assert found is not None
    headers = {"X-CSRF-Token": found[1]}
    assert browser.post(COMMANDS, json=KNOB, headers=headers).status_code == 202
    assert csrf(browser) == headers
    cookie = page.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Set-Cookie" not in browser.get("/").headers


def test_a_forged_cookie_is_no_session(quiet: Site) -> None:
    browser = quiet.browser()
    browser.get("/")
    cookie = only_cookie(browser)
    identity, _, signature = cookie.value.split(".")
    for forged in (f"{identity}.reader.{signature}", "x.visitor.", "..", "x"):
        stranger = quiet.browser()
        stranger.set_cookie(cookie.key, forged)
        answer = stranger.post(COMMANDS, json=KNOB, headers={"X-CSRF-Token": ""})
        assert answer.status_code == 401


def test_tokens_survive_a_restart(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        browser = site.browser()
        token = csrf(browser)
        cookie = only_cookie(browser)
    (tmp_path / "other").mkdir()
    with open_site(tmp_path / "other") as site:
        browser = site.browser()
        browser.set_cookie(cookie.key, cookie.value)
        assert browser.post(COMMANDS, json=KNOB, headers=token).status_code == 202


def test_a_read_only_dashboard_changes_nothing(tmp_path: Path) -> None:
    with open_site(tmp_path, allow_control=False) as site:
        assert site.services.commands is None
        answer = site.browser().post(COMMANDS, json=KNOB, headers=BEARER)
        assert answer.status_code == 403
        assert "read-only" in answer.get_json()["error"]["message"]
        assert site.browser().post(COMMANDS, json=KNOB).status_code == 401


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("wide"), host="0.0.0.0") as opened:
        yield opened


class TestBoundWider:
    """Host 0.0.0.0: everything but health and the login page needs the token."""

    @pytest.mark.parametrize(
        "path",
        ["/api/v1/runs", "/metrics", "/live?run=r1", "/_dash-layout", "/assets/a_tokens.css"],
    )
    def test_reading_needs_the_token(self, wide: Site, path: str) -> None:
        answer = wide.browser().get(path)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        with wide.browser().get(path, headers=BEARER) as let_in:
            assert let_in.status_code == 200

    def test_health_is_open(self, wide: Site) -> None:
        assert wide.browser().get("/healthz").status_code == 200

    def test_a_csrf_token_is_no_way_in(self, wide: Site) -> None:
        browser = wide.browser()
        assert browser.get("/api/v1/csrf").status_code == 401
        assert browser.post(COMMANDS, json=KNOB).status_code == 401

    def test_a_browser_is_led_to_the_login_and_back(self, wide: Site) -> None:
        browser = wide.browser()
        first = browser.get("/plan?run=r1&at=2", headers={"Accept": "text/html"})
        assert first.status_code == 303
        assert first.headers["Location"] == "/login?next=%2Fplan%3Frun%3Dr1%26at%3D2"
        form = browser.get(first.headers["Location"])
        assert form.status_code == 200
        action = re.search(r'action="([^"]+)"', form.text)
        assert action is not None
        wrong = browser.post(action[1], data={"token": "wrong"})
        assert (wrong.status_code, "not the token" in wrong.text) == (401, True)
        right = browser.post(action[1], data={"token": TOKEN})
        assert (right.status_code, right.headers["Location"]) == (303, "/plan?run=r1&at=2")
        assert browser.get("/api/v1/runs").status_code == 200
        assert browser.post(COMMANDS, json=KNOB, headers=csrf(browser)).status_code == 202

    @pytest.mark.parametrize(
        "target", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "/a\nb"]
    )
    def test_the_login_leads_nowhere_else(self, wide: Site, target: str) -> None:
        browser = wide.browser()
        answer = browser.post("/login", data={"token": TOKEN}, query_string={"next": target})
        assert answer.headers["Location"] == "/"


VIEWER = "a-token-to-look-on"
LOOKS_ON = {"Authorization": f"Bearer {VIEWER}"}


class TestViewers:
    """A second token reads all and changes nothing."""

    @pytest.fixture
    def guarded(self, tmp_path: Path) -> Iterator[Site]:
        with open_site(tmp_path, host="0.0.0.0", viewer_token=VIEWER) as opened:
            yield opened

    def test_by_header(self, guarded: Site) -> None:
        browser = guarded.browser()
        assert browser.get("/api/v1/runs", headers=LOOKS_ON).status_code == 200
        refused = browser.post(COMMANDS, json=KNOB, headers=LOOKS_ON)
        assert (refused.status_code, refused.get_json()["error"]["code"]) == (403, "viewer")
        assert browser.post(COMMANDS, json=KNOB, headers=BEARER).status_code == 202

    def test_by_login(self, guarded: Site) -> None:
        browser = guarded.browser()
        assert browser.post("/login", data={"token": VIEWER}).status_code == 303
        assert browser.get("/api/v1/runs").status_code == 200
        refused = browser.post(COMMANDS, json=KNOB, headers=csrf(browser))
        assert refused.status_code == 403
        assert "You look on as a viewer" in refused.get_json()["error"]["message"]
        assert guarded.services.reader.commands("r1") == ()
        browser.post("/login", data={"token": TOKEN})
        assert browser.post(COMMANDS, json=KNOB, headers=csrf(browser)).status_code == 202

    def test_a_cookie_cannot_be_made_more_of(self, guarded: Site) -> None:
        browser = guarded.browser()
        browser.post("/login", data={"token": VIEWER})
        cookie = only_cookie(browser)
        browser.set_cookie(cookie.key, cookie.value.replace("viewer", "reader"))
        assert browser.get("/api/v1/runs").status_code == 401

    def test_controls_say_why(self, guarded: Site) -> None:
        server = guarded.app.server
        with server.test_request_context("/", headers=LOOKS_ON):
            assert guarded.services.why_no_control.startswith("You look on as a viewer")
        with server.test_request_context("/", headers=BEARER):
            assert guarded.services.why_no_control == ""
        assert guarded.services.why_no_control == ""

    def test_without_such_a_token_an_empty_one_is_none(self, wide: Site) -> None:
        empty = {"Authorization": "Bearer "}
        assert wide.browser().get("/api/v1/runs", headers=empty).status_code == 401


def inline_scripts(html: str) -> list[str]:
    """Bodies of the scripts a browser would run from the page itself."""
    found = re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL)
    return [
        body for attributes, body in found if "src=" not in attributes and "json" not in attributes
    ]


def directives(browser: FlaskClient, path: str) -> dict[str, list[str]]:
    policy = browser.get(path).headers["Content-Security-Policy"]
    return {words[0]: words[1:] for words in (part.split() for part in policy.split(";"))}


def test_pages_have_no_script_of_their_own_and_may_have_none(quiet: Site) -> None:
    browser = quiet.browser()
    assert inline_scripts(browser.get("/").text) == []
    policy = directives(browser, "/")
    assert policy["script-src"] == ["'self'"]
    assert policy["default-src"] == ["'none'"]
    assert policy["connect-src"] == ["'self'"]
    assert policy["frame-ancestors"] == ["'none'"]
    sources = {source for words in policy.values() for source in words}
    assert not any("." in source for source in sources)


@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/login", "/metrics", "/nothing/here"])
def test_every_answer_carries_the_safe_headers(quiet: Site, path: str) -> None:
    headers = quiet.browser().get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"


def test_no_page_names_another_machine(quiet: Site) -> None:
    html = quiet.browser().get("/").text
    assert re.findall(r'(?:src|href)="(https?:)?//', html) == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"])
def test_loopback_addresses(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.example", ""])
def test_other_addresses(host: str) -> None:
    assert not is_loopback(host)


def test_the_token_is_not_in_the_settings_repr() -> None:
    assert TOKEN not in repr(Settings("runs.db", TOKEN))
