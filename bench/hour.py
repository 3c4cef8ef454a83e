"""An hour of records, rewound in Chromium: going to each page, and from moment to moment.

The records are those of ``bench growth`` with raw values kept for the whole hour; no engine runs.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from backend.launch.doctor import find_chromium
from backend.workloads.spec import load_workload, shipped_workloads
from bench.growth import EXPORT, MINUTES, WORKLOADS, measured
from bench.pages import measure_recording
from bench.processes import CHROMIUM, replaying


def main() -> None:
    """Print what was measured."""
    chromium = find_chromium()
    if chromium is None:
        print("hour: no Chromium here; 'run.py test' installs one")
        return
    workload = load_workload(shipped_workloads()[WORKLOADS[0]])
    with TemporaryDirectory() as name, sync_playwright() as play:
        made = measured(workload, MINUTES, Path(name), kept_s=60.0 * MINUTES)
        print(f"{WORKLOADS[0]}: an hour of records, {made.plain / 1e6:.0f} MB")
        browser = play.chromium.launch(executable_path=str(chromium), args=list(CHROMIUM))
        with replaying(Path(name) / EXPORT) as address:
            measure_recording(browser, address)
        browser.close()
