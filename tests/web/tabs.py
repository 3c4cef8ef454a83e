"""Browser tabs that tests take turns with: starting one takes longer than drawing a page in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Page

#: A document of a dashboard that does nothing; of its own, as a blank one would be drawn in another
#: process, which has to be started for the next page.
_QUIET = "/healthz"
_PERMISSIONS = ("clipboard-read", "clipboard-write")


@dataclass
class Tab:
    """A page in a context of its own, and what it did wrong since it was handed out. own: address
    of the dashboard it may ask."""

    page: Page
    own: str = ""
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.troubles.append(f"page error: {error}"))
        self.page.on("request", lambda request: self._asked(request.url))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.troubles.append(f"console: {message.text}")

    def _asked(self, address: str) -> None:
        parts = urlsplit(address)
        is_local = parts.scheme in ("data", "blob", "about")
        if not is_local and f"{parts.scheme}://{parts.netloc}" != self.own:
            self.troubles.append(f"request to another machine: {address}")

    def leave(self) -> None:
        """Nothing of the page stays: neither what it runs nor what it keeps."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.goto(self.own + _QUIET)
        self.page.context.clear_cookies()
        session = self.page.context.new_cdp_session(self.page)
        kept = {"origin": self.own, "storageTypes": "cookies,local_storage,indexeddb,cache_storage"}
        session.send("Storage.clearDataForOrigin", kept)
        session.detach()


class Tabs:
    """Tabs of a browser, handed out again once a test is over. Those that can be touched are not:
    that is a property of the context."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Tab] = []

    def take(self, url: str, size: tuple[int, int], touch: bool = False, **media: Any) -> Tab:
        """A tab for a dashboard, of this size in pixels. media: as Page.emulate_media takes it."""
        tab = self._new(touch) if touch or not self._free else self._free.pop()
        tab.own, tab.troubles = url, []
        tab.page.set_viewport_size({"width": size[0], "height": size[1]})
        tab.page.emulate_media(**media)
        return tab

    def give_back(self, tab: Tab, touch: bool = False) -> None:
        """The test that took it is over."""
        if tab.page.is_closed():
            return
        try:
            tab.leave()
        except Error:  # its dashboard is gone
            touch = True
        if touch:
            tab.page.context.close()
        else:
            self._free.append(tab)

    def _new(self, touch: bool) -> Tab:
        context = self._browser.new_context(has_touch=touch, permissions=[*_PERMISSIONS])
        return Tab(context.new_page())
