"""Pictures of every page, for docs/images: the recording of the flights, opened and photographed.

    python3 run.py bench pictures

Needs a Chromium, neither Java nor Spark; the pictures are the same until a page or the recording
changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from backend.launch.doctor import find_chromium
from bench.png import smaller
from bench.processes import CHROMIUM, ROOT, replaying

RECORDING: Final = ROOT / "storage" / "recordings" / "flights.planwatch.gz"
IMAGES: Final = ROOT / "docs" / "images"
#: A moment of the recording after several changes of plan.
AT: Final = 190
#: Name of a picture -> the address of its page.
PAGES: Final = {
    "plan": f"/plan?at={AT}",
    "decisions": f"/decisions?at={AT}",
    "matrix": f"/matrix?at={AT}",
    "timeline": "/timeline",
    "monitor": "/monitor",
    "memory": f"/memory?at={AT}",
    "knobs": "/knobs",
    "results": f"/results?at={AT}",
    "compare": "/compare",
    "postmortem": "/postmortem",
    "sql": "/sql?show=SELECT%20kind%2C%20count(*)%20AS%20n%20FROM%20events%20GROUP%20BY%20kind",
    "runs": "/",
}
VIEW: Final[ViewportSize] = {"width": 1360, "height": 850}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
_SETTLE_MS: Final = 2500


def main() -> None:
    """Make them all, and say how large they are."""
    chromium = find_chromium()
    if chromium is None:
        print("pictures: no Chromium here; 'run.py test' installs one")
        return
    with replaying(RECORDING) as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=list(CHROMIUM))
        for name, path in PAGES.items():
            take(browser, address + path, IMAGES / f"{name}.png", VIEW, "dark")
        take(browser, address + PAGES["plan"], IMAGES / "plan_light.png", VIEW, "light")
        take(browser, address + PAGES["plan"], IMAGES / "phone.png", PHONE, "dark")
        browser.close()


def take(browser: Browser, address: str, file: Path, view: ViewportSize, scheme: str) -> None:
    """One picture, once nothing moves on the page any more."""
    context = browser.new_context(
        viewport=view,
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".pw-panel, .pw-knob, .pw-graph .pw-card")
    page.wait_for_selector("#pw-shell[data-painting='0']")
    page.wait_for_timeout(_SETTLE_MS)
    file.write_bytes(smaller(page.screenshot()))
    context.close()
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB")
