"""The dashboard behind proxies: another name, another Host, a path before its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.web.conftest import PATIENCE_S, asking, painted, until, visit
from tests.web.proxy import Proxy, running
from tests.web.site import RUNNING, Site, serve

pytestmark = pytest.mark.web
NAME = "dash.example.com"
Behind = Callable[..., tuple[Site, Proxy]]


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Behind]:
    """behind({"prefix": "/pw"}, strips=True): a dashboard with these settings, and its proxy."""
    with ExitStack() as stack:

        def begun(settings: dict[str, Any], **how: Any) -> tuple[Site, Proxy]:
            site = stack.enter_context(serve(tmp_path, **settings))
            proxy = Proxy(urlsplit(site.url).port or 0, **how)
            if proxy.host == "its own":
                proxy.host = f"127.0.0.1:{proxy.port}"
            return site, stack.enter_context(running(proxy))

        yield begun


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a browser that knows nothing yet."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_S * 1000)
    yield opened
    context.close()


PASSED_ON = {"host": ""}
CHANGED = {"host": "its own"}
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "as nginx and Apache are by default": ({"allowed_hosts": (NAME,)}, CHANGED, ""),
    "the host passed on": ({"allowed_hosts": (NAME,)}, PASSED_ON, ""),
    "prefix taken off": ({"allowed_hosts": (NAME,), "prefix": "/pw"}, {"strips": True}, "/pw"),
    "prefix left": ({"allowed_hosts": (NAME,), "prefix": "/pw"}, CHANGED, "/pw"),
    "as Jupyter": (
        {"allowed_hosts": (NAME,), "prefix": "/user/me@x/proxy/8050"},
        {"strips": True, "adds": {"X-Forwarded-Prefix": "/elsewhere"}},
        "/user/me%40x/proxy/8050",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_page_behind_a_proxy_does_all_it_does(behind: Behind, page: Page, way: str) -> None:
    settings, how, prefix = WAYS[way]
    site, proxy = behind(settings, prefix=prefix, **how)
    troubles: list[str] = []
    page.on("console", lambda said: troubles.append(said.text) if is_trouble(said) else None)
    home = f"http://{NAME}:{proxy.own_port}{prefix}"
    visit(page, f"{home}/plan")
    painted(page)
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")
    with site.feeding():
        until(page, f"planwatch.known.now > {site.recording.next_batch}")
    with asking(page, site.reader, RUNNING):
        page.keyboard.press("h")
    page.locator('.pw-nav-link[data-pw-path="/decisions"]').click()
    expect(page).to_have_url(re.compile(re.escape(home) + "/decisions"))
    painted(page)
    page.reload()
    painted(page)
    assert page.locator("#pw-page h1").inner_text() == "Decisions"
    links = page.locator("a[href]").evaluate_all("all => all.map((a) => a.pathname)")
    assert {link for link in links if not link.startswith(f"{prefix}/")} == set()
    assert page.locator("#pw-late").is_hidden()
    assert proxy.strays == []
    assert troubles == []


def is_trouble(said: ConsoleMessage) -> bool:
    """Whether it is an error; that a header means nothing without https is none."""
    return said.type == "error" and "Cross-Origin-Opener-Policy" not in said.text


def test_without_a_stream_it_polls_below_the_prefix(behind: Behind, page: Page) -> None:
    settings = {"allowed_hosts": (NAME,), "prefix": "/a/b"}
    site, proxy = behind(settings, prefix="/a/b", strips=True, refuses=("/live?",))
    visit(page, f"http://{NAME}:{proxy.own_port}/a/b/plan")
    painted(page)
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "poll")
    with site.feeding():
        until(page, f"planwatch.known.now > {site.recording.next_batch}")
    assert proxy.strays == []


@pytest.mark.parametrize("end", ["", "/"])
def test_the_prefix_alone_is_the_first_page(behind: Behind, page: Page, end: str) -> None:
    _, proxy = behind({"allowed_hosts": (NAME,), "prefix": "/pw"}, prefix="/pw", strips=True)
    visit(page, f"http://{NAME}:{proxy.own_port}/pw{end}")
    painted(page)
    expect(page.locator("#pw-page h1")).to_have_text("Runs")
    page.locator("tr[data-run=r2] td").nth(3).click()
    expect(page).to_have_url(re.compile(r"/pw/plan\?run=r2"))


@pytest.mark.parametrize("hides", ["", "origin"], ids=["scripts", "questions alone"])
def test_a_page_that_is_refused_says_what_to_type(
    behind: Behind, page: Page, caplog: pytest.LogCaptureFixture, hides: str
) -> None:
    """Its scripts already, where a browser says of them where the page is from."""
    _, proxy = behind({}, hides=hides, **CHANGED)
    visit(page, f"http://{NAME}:{proxy.own_port}/plan")
    typed = f"--allow-host {NAME}:{proxy.own_port}."
    expect(page.locator("#pw-late")).to_contain_text(typed)
    expect(page.locator("#pw-late")).to_be_visible()
    page.reload()
    expect(page.locator("#pw-late")).to_contain_text(typed)
    assert [one.getMessage().endswith(typed) for one in caplog.records].count(True) == 1


def test_a_page_below_a_prefix_that_nobody_told_says_how_to(behind: Behind, page: Page) -> None:
    _, proxy = behind({"allowed_hosts": (NAME,)}, prefix="/pw", strips=True)
    visit(page, f"http://{NAME}:{proxy.own_port}/pw/")
    expect(page.locator("#pw-late")).to_be_visible()
    expect(page.locator("#pw-late")).to_contain_text("--prefix /PATH")
    assert proxy.strays
