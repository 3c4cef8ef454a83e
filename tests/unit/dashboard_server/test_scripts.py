"""Modules: one address for all of them, which changes with any of them."""

from __future__ import annotations

import re
from pathlib import Path

import dash

from dashboard.scripts import ASSETS, Scripts


def test_every_module_of_the_page_is_fetched_ahead_and_kept(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    html = browser.get("/").text
    ahead = re.findall(r'<link rel="modulepreload" href="([^"]+)"', html)
    assert {address.rpartition("/")[2] for address in ahead} == {
        path.name for path in (ASSETS / "modules").glob("*.js")
    }
    for address in ahead:
        answer = browser.get(address)
        assert answer.mimetype == "text/javascript"
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    (main,) = re.findall(r'type="module" src="([^"]+)"', html)
    assert main in ahead


def test_what_is_imported_exists(shown: dash.Dash) -> None:
    for path in (ASSETS / "modules").glob("*.js"):
        for name in re.findall(r'\b(?:from|import|import\() ?"([^"\n]+)"', path.read_text("utf-8")):
            assert (path.parent / name).is_file(), f"{path.name} imports {name}"


def test_another_version_leads_to_this_one(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    answer = browser.get("/scripts/000000000000/modules/main.js")
    assert answer.status_code == 302
    assert answer.headers["Cache-Control"] == "no-store"
    assert browser.get(answer.headers["Location"]).status_code == 200
    assert browser.get("/scripts/000000000000/modules/none.js").status_code == 404
    assert browser.get("/scripts/000000000000/../dashboard/app.py").status_code == 404


def test_the_address_follows_the_content(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "main.js").write_text("export {};")
    (tmp_path / "theme_boot.js").write_text("")
    first = Scripts(tmp_path)
    assert first.address("theme_boot.js") == Scripts(tmp_path).address("theme_boot.js")
    (tmp_path / "modules" / "more.js").write_text("")
    second = Scripts(tmp_path)
    assert second.version != first.version
    (tmp_path / "theme_boot.js").write_text(" ")
    assert Scripts(tmp_path).version != second.version
