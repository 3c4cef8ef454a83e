"""Hosts and prefixes as people and browsers write them, and who gets in through a proxy."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from dashboard.serving.hosts import (
    AddressRefused,
    Host,
    check_host_names,
    check_prefix,
    read_host,
    read_origin,
)
from dashboard.web.cli import BAD_REQUEST, main, read_settings
from tests.unit.dashboard_server.site import TOKEN, open_site

KNOB = {"knob": "mu", "value": 0.2}
HERE = "127.0.0.1:8050"


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Dash.Example.com", Host("dash.example.com")),
        ("dash.example.com.:8443", Host("dash.example.com", 8443)),
        ("localhost:", Host("localhost")),
        ("[::1]:8050", Host("::1", 8050)),
        ("::1", Host("::1")),
        ("[2001:DB8:0::1]", Host("2001:db8::1")),
        ("bücher.example", Host("xn--bcher-kva.example")),
        ("10.0.0.7:80", Host("10.0.0.7", 80)),
    ],
)
def test_a_host_is_read_as_it_is_written(text: str, host: Host) -> None:
    assert read_host(text) == host
    assert read_host(str(host)) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "me@x",
        "x/",
        "x:0",
        "x:99999",
        "x:y",
        "*.example.com",
        "[zz]",
        "-x",
        "a\\b",
        "a?b",
    ],
)
def test_what_is_no_host_is_none(text: str) -> None:
    assert read_host(text) is None
    with pytest.raises(AddressRefused, match=r"dash\.example\.com:8443"):
        check_host_names(["localhost", text])


@pytest.mark.parametrize("text", ["null", "file://", "chrome-extension://abc", "http://", "x", ""])
def test_what_is_no_page_of_the_web_has_no_origin(text: str) -> None:
    assert read_origin(text) is None


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("", ""), ("/", ""), ("pw", "/pw"), ("/pw/", "/pw"), ("//a//b/", "/a/b"),
        ("/pw/pw", "/pw/pw"), ("/user/me%40x/proxy/8050", "/user/me@x/proxy/8050"),
    ],
)  # fmt: skip
def test_a_prefix_has_no_slash_at_its_end(text: str, prefix: str) -> None:
    assert check_prefix(text, ["plan"]) == prefix


@pytest.mark.parametrize(
    "text", ["/a/..", "/a?b", "/a#b", "https://x/pw", "/a%2fb", "/a\nb", "/api", "/plan/x", "/live"]
)
def test_what_is_no_prefix_is_refused(text: str) -> None:
    with pytest.raises(AddressRefused, match="such as /pw"):
        check_prefix(text, ["plan"])


@pytest.mark.parametrize(
    "arguments", [["--allow-host", "https://dash.example.com"], ["--prefix", "/plan"]]
)
def test_a_start_with_a_wrong_address_is_refused_in_a_sentence(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--store", str(tmp_path / "p.db"), *arguments]) == BAD_REQUEST
    assert capsys.readouterr().err.startswith(f"{arguments[0]} '{arguments[1]}' ")


def test_a_start_takes_addresses_as_people_write_them(tmp_path: Path) -> None:
    words = ["--allow-host", "Dash.Example.com", "--allow-host", "::1", "--prefix", "pw/"]
    settings = read_settings(["--store", str(tmp_path / "p.db"), *words])
    assert settings.allowed_hosts == ("dash.example.com", "[::1]")
    assert settings.prefix == "/pw"
    assert settings.address_at(8050) == "http://127.0.0.1:8050/pw/"


@pytest.mark.parametrize(
    ("allowed", "host", "origin", "status"),
    [
        ("dash.example.com", HERE, "http://dash.example.com", 200),  # the proxy sends its own Host
        ("dash.example.com", HERE, "https://dash.example.com", 200),
        ("dash.example.com", HERE, "http://dash.example.com:9000", 200),
        ("dash.example.com", HERE, "https://DASH.example.com", 200),
        ("Dash.Example.com.", HERE, "https://dash.example.com", 200),
        ("dash.example.com", "dash.example.com:443", "https://dash.example.com", 200),
        ("dash.example.com", "dash.example.com:80", "http://dash.example.com", 200),
        ("dash.example.com", "DASH.example.com", "http://dash.example.com", 200),
        ("dash.example.com", "dash.example.com", "http://dash.example.com:9000", 200),
        ("dash.example.com:9000", HERE, "http://dash.example.com:9000", 200),
        ("dash.example.com:443", HERE, "https://dash.example.com", 200),
        ("dash.example.com:9000", "dash.example.com", "http://dash.example.com:9000", 200),
        ("[2001:db8::7]:8443", HERE, "https://[2001:db8::7]:8443", 200),
        ("2001:db8::7", HERE, "http://[2001:db8:0::7]", 200),
        ("localhost:3000", HERE, "http://localhost:3000", 200),
        ("dash.example.com", "[::1]:8050", "http://[::1]:8050", 200),
        ("dash.example.com:9000", HERE, "http://dash.example.com", 403),
        ("dash.example.com:443", HERE, "http://dash.example.com", 403),
        ("dash.example.com", HERE, "http://dash.example.com.evil.example", 403),
        ("dash.example.com", HERE, "http://evil.example", 403),
        ("dash.example.com", HERE, "http://evil.example/dash.example.com", 403),
        ("dash.example.com", HERE, "http://dash.example.com@evil.example", 403),
        ("dash.example.com", HERE, "http://127.0.0.1:9999", 403),
        ("dash.example.com", HERE, "null", 403),
        ("dash.example.com", "evil.example", "http://dash.example.com", 400),
        ("dash.example.com", "127.0.0.1@evil.example", "http://dash.example.com", 400),
    ],
)
def test_a_page_of_an_allowed_host_may_ask(
    tmp_path: Path, allowed: str, host: str, origin: str, status: int
) -> None:
    """As assets/late_boot.js asks whether it may."""
    with open_site(tmp_path, allowed_hosts=(allowed,)) as site:
        answer = site.browser().options("/healthz", headers={"Host": host, "Origin": origin})
        assert answer.status_code == status


def test_who_only_says_that_it_was_forwarded_gains_nothing(tmp_path: Path) -> None:
    forged = {
        **{f"X-Forwarded-{name}": "dash.example.com" for name in ("Host", "Server", "For")},
        **{"X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "//evil.example"},
        **{"X-Forwarded-Port": "443", "Forwarded": "host=dash.example.com;proto=https"},
    }
    with open_site(tmp_path, allowed_hosts=("dash.example.com",)) as site:
        browser = site.browser()
        foreign = {"Host": "evil.example", **forged}
        assert browser.get("/api/v1/runs", headers=foreign).status_code == 400
        posted = browser.post("/login", headers={"Origin": "https://evil.example", **forged})
        assert posted.status_code == 403
        assert "evil.example" not in browser.get("/", headers=forged).text


def test_a_refusal_says_what_to_type_and_the_log_has_it_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_site(tmp_path) as site, caplog.at_level(logging.WARNING):
        browser = site.browser()
        for _ in range(3):
            asked = browser.get("/", headers={"Host": "dash.example.com"})
            origin = {"Host": HERE, "Origin": "https://dash.example.com:8443"}
            posted = browser.post("/login", headers=origin)
        assert "--allow-host dash.example.com." in asked.get_json()["error"]["message"]
        assert "--allow-host dash.example.com:8443." in posted.get_json()["error"]["message"]
        other = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
        assert browser.post("/login", headers=other).status_code == 403
        told = [one.getMessage() for one in caplog.records]
        assert [re.findall(r"--allow-host (\S+)\.", line) for line in told] == [
            ["dash.example.com"],
            ["dash.example.com:8443"],
        ]
        for n in range(200):
            browser.get("/", headers={"Host": f"h{n}.example"})
        assert len(caplog.records) == 50


@pytest.mark.parametrize("asked", ["", "/pw"])
def test_below_a_prefix_all_leads_below_it(tmp_path: Path, asked: str) -> None:
    """asked: the prefix as the proxy leaves it."""
    with open_site(tmp_path, prefix="/pw") as site:
        browser = site.browser()
        page = browser.get(f"{asked}/plan")
        assert page.status_code == 200
        addresses = re.findall(r'(?:src|href|action)="([^"]+)"', page.text)
        assert addresses
        assert {one for one in addresses if not one.startswith("/pw/")} == set()
        assert '<meta name="path-prefix" content="/pw">' in page.text
        config = re.search(r'id="_dash-config"[^>]*>([^<]+)<', page.text)
        assert config is not None
        assert json.loads(config[1])["requests_pathname_prefix"] == "/pw/"
        cookie = page.headers["Set-Cookie"]
        assert re.search(r"; Path=/pw(;|$)", cookie)
        for address in set(addresses):
            with browser.get(asked + address.removeprefix("/pw")) as there:
                assert there.status_code == 200
        document = browser.get(f"{asked}/api/v1/openapi.json").get_json()
        assert document["servers"] == [{"url": "/pw/"}]
        token = {"X-CSRF-Token": browser.get("/pw/api/v1/csrf").get_json()["token"]}
        changed = browser.post("/pw/api/v1/runs/r1/commands", json=KNOB, headers=token)
        assert changed.status_code == 202
        assert changed.headers["Location"].startswith("/pw/api/v1/runs/r1/commands/")


@pytest.mark.parametrize("asked", ["/pw", "/pw/", "/", "//plan", "/pw//plan"])
def test_slashes_of_a_proxy_do_not_count(tmp_path: Path, asked: str) -> None:
    with open_site(tmp_path, prefix="/pw") as site:
        assert site.browser().get(f"http://localhost{asked}").status_code == 200


@pytest.mark.parametrize("prefix", ["/a", "/a/a", "/plans", "/ü", "/me@x"])
def test_a_path_is_taken_apart_at_the_prefix_alone(tmp_path: Path, prefix: str) -> None:
    with open_site(tmp_path, prefix=prefix) as site:
        browser = site.browser()
        for begin in ("", prefix):
            assert browser.get(f"{begin}/api/v1/runs").status_code == 200
            assert browser.get(f"{begin}/api/v1/nothing").status_code == 404
        assert browser.get(f"{prefix}x/api/v1/runs").get_json(silent=True) is None


def test_a_login_through_https_stays_below_the_prefix(tmp_path: Path) -> None:
    with open_site(tmp_path, host="0.0.0.0", prefix="/pw") as site:
        browser = site.browser()
        first = browser.get("/pw/plan?run=r1", headers={"Accept": "text/html"})
        assert first.headers["Location"] == "/pw/login?next=%2Fplan%3Frun%3Dr1"
        form = browser.get(first.headers["Location"])
        action = re.search(r'action="([^"]+)"', form.text)
        assert action is not None
        assert action[1].startswith("/pw/login?next=")
        headers = {"Host": "dash.example.com:443", "Origin": "https://dash.example.com"}
        let_in = browser.post(action[1], data={"token": TOKEN}, headers=headers)
        assert (let_in.status_code, let_in.headers["Location"]) == (303, "/pw/plan?run=r1")
        assert re.search(r"; Secure;.*; Path=/pw;", let_in.headers["Set-Cookie"])
