"""Browser fixtures: one Chromium a session; every page must be free of errors and of strangers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from backend.launch.doctor import find_chromium
from dashboard.serving.bundle import ASSETS
from dashboard.systems import FACES
from storage.reader import Reader
from tests.web.site import Site, serve
from tests.web.tabs import Tab, Tabs

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.example.com 127.0.0.1",
)
OpenPage = Callable[..., Page]
Ask = Callable[..., Any]
#: What a page may take on a machine that is busy with other things; a quiet one needs a tenth.
PATIENCE_S = 45.0
expect.set_options(timeout=PATIENCE_S * 1000)


def visit(page: Page, address: str, status: int = 200) -> None:
    """Go to an address, which has to be answered with a status."""
    answer = page.goto(address)
    assert answer is not None, f"{address} is not answered"
    assert answer.status == status, f"{address} is answered with {answer.status}"


def until(page: Page, condition: str, timeout_s: float = PATIENCE_S) -> None:
    """Wait until a JavaScript expression is true: the page forbids Playwright's own way (eval)."""
    end = time.monotonic() + timeout_s
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"never true: {condition}"
        page.wait_for_timeout(50)  # sleeps: asked again


def painted(page: Page, batch: int | None = None) -> None:
    """Wait until the page rests: everything on it is of one batch, and nothing is on its way.
    batch: this one; None: any."""
    mark = "document.getElementById('pw-shell')?.dataset.painted"
    until(page, f"{mark} !== undefined" if batch is None else f"{mark}?.endsWith('/{batch}')")


def until_asked(page: Page, reader: Reader, run: str, n: int) -> None:
    """Wait until n requests to the engine are recorded."""
    for _ in range(400):
        if len(reader.commands(run)) >= n:
            return
        page.wait_for_timeout(50)  # sleeps: asked again
    pytest.fail(f"{n} requests were never recorded")


@contextmanager
def asking(page: Page, reader: Reader, run: str, n: int = 1) -> Iterator[None]:
    """What is done to the page in the block asks the engine n times; all is recorded after it."""
    before = len(reader.commands(run))
    yield
    until_asked(page, reader, run, before + n)


def drafted(page: Page, name: str, value: str) -> Locator:
    """The card of a knob with another value in it; its preview is looked for."""
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    card = page.locator(f"#pw-page [data-knob='{name}']")
    expect(card).to_be_attached()
    page.locator("details.pw-expert").evaluate_all("all => all.forEach(one => (one.open = true))")
    box = card.get_by_label(name, exact=True)
    if box.evaluate("box => box.tagName") == "SELECT":
        box.select_option(value)
    else:
        box.fill(value)
    return card


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests. A missing browser is a failure, never a skip."""
    chromium = find_chromium()
    assert chromium is not None, "no Chromium here"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        yield launched
        launched.close()


#: Name -> where it stands.
SCRIPTS = {
    path.name: str(path)
    for folder in (ASSETS / "modules", *(face.folder for face in FACES))
    for path in folder.glob("*.js")
}


class _Files(SimpleHTTPRequestHandler):
    """The modules as they are, and an empty page, without a word on the console."""

    def do_GET(self) -> None:
        """A file, or the empty page at /."""
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>modules</title>")
        return None

    def translate_path(self, path: str) -> str:
        """A module wherever it stands."""
        return SCRIPTS.get(path.rpartition("/")[2]) or super().translate_path(path)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    """An empty page that can import modules."""
    handler = partial(_Files, directory=str(ASSETS))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        yield page
        page.close()
        server.shutdown()


@pytest.fixture
def ask(blank: Page) -> Ask:
    """ask("format", "show(a, b)", a=1, b="int"): an expression over what a module exports."""

    def asked(module: str, expression: str, **given: Any) -> Any:
        script = (
            "async ([path, names, values]) => { const m = await import(path);"
            f" return ((...given) => {{ const {{ {', '.join(given)} }} ="
            " Object.fromEntries(names.map((name, i) => [name, values[i]]));"
            f" return {expression}; }})(); }}"
        )
        path = f"/modules/{module}.js"
        return blank.evaluate(script, [path, list(given), list(given.values())])

    return asked


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A served store with an ended and a running run, for one module; without any where the module
    says ``IS_ALONE``."""
    is_alone = getattr(request.module, "IS_ALONE", False)
    with serve(tmp_path_factory.mktemp("site"), empty=is_alone) as served:
        yield served


@pytest.fixture(scope="session")
def tabs(browser: Browser) -> Tabs:
    """Tabs that all tests share."""
    return Tabs(browser)


@pytest.fixture
def open_page(tabs: Tabs, site: Site) -> Iterator[OpenPage]:
    """open_page("/plan?run=r1", scheme="dark", width=1440, height=900, motion="no-preference",
    status=200, touch=False, site_url=None, rests=True).

    rests: wait until all of it is painted. status: what the page has to be answered with. touch: a
    finger can touch it. site_url: of another dashboard than the module's. Fails the test at its end
    when a page logged an error or asked another machine for anything.
    """
    taken: list[tuple[Tab, bool]] = []

    def opened(
        path: str,
        scheme: str = "light",
        width: int = 1440,
        height: int = 900,
        motion: str = "no-preference",
        status: int = 200,
        touch: bool = False,
        site_url: str | None = None,
        rests: bool = True,
    ) -> Page:
        url = site.url if site_url is None else site_url
        tab = tabs.take(url, (width, height), touch, color_scheme=scheme, reduced_motion=motion)
        taken.append((tab, touch))
        tab.page.set_default_timeout(PATIENCE_S * 1000)
        visit(tab.page, url + path, status)
        if rests and status == 200:
            painted(tab.page)
        return tab.page

    yield opened
    for tab, touch in taken:
        tabs.give_back(tab, touch)
    assert [trouble for tab, _ in taken for trouble in tab.troubles] == []
