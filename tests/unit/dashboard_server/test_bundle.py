"""The page's script and styles: one file each, at an address that changes with any part of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import dash
import pytest

from dashboard.components.drawn import Drawn
from dashboard.serving.bundle import ASSETS, SHEET, Bundle, bundled, exports
from dashboard.systems import FACES

#: By the name they import each other by.
SCRIPTS = {
    path.name: path
    for folder in (ASSETS / "modules", *(face.folder for face in FACES))
    for path in sorted(folder.glob("*.js"))
}
MODULES = sorted(SCRIPTS.values())


def test_a_page_asks_for_dash_one_script_and_one_sheet_and_keeps_them(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    html = browser.get("/").text
    own = re.findall(r'(?:href|src)="(/scripts/[^"]+)"', html)
    assert len(set(own)) == 5, "theme, what is refused, Dash, script, styles"
    assert "_dash-component-suites" not in html
    assert "/assets/" not in re.sub(r'"[^"]*(?:favicon|woff2)[^"]*"', "", html)
    for address in own:
        answer = browser.get(address)
        assert answer.mimetype == ("text/css" if address.endswith("css") else "text/javascript")
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_dash_comes_as_one_script_without_what_is_not_used(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    (address,) = re.findall(r'src="(/scripts/\w+/dash-renderer\.js)"', browser.get("/").text)
    script = browser.get(address).text
    order = ["react.production.min.js", "react-dom.production.min.js", "DashRenderer"]
    places = [script.find(mark) for mark in order]
    assert places == sorted(places)
    assert places[0] > 0
    assert "dash_core_components" in script
    assert "dash_html_components" in script
    assert "dash_table" not in script.replace("dash_table_", "")
    assert "Plotly.react" not in script


def test_plotly_is_asked_for_at_once_where_figures_are_drawn(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    drawn = {
        path: bool(
            re.search(
                r'<link rel="preload" as="script" href="/scripts/\w+/vendor/plotly', html.text
            )
        )
        for path in ("/", "/plan", "/timeline", "/knobs", "/nowhere")
        if (html := browser.get(path))
    }
    assert {path for path, asked in drawn.items() if asked} == {"/timeline"}


def test_the_script_holds_every_module_once_after_what_it_imports() -> None:
    script = Bundle()._bodies["modules/main.js"].decode()
    order = re.findall(r"^// modules/(\w+\.js)$", script, re.MULTILINE)
    assert Counter(order) == Counter(path.name for path in MODULES)
    assert order[-1] == "main.js"
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    for path in MODULES:
        for name in re.findall(r'^import .*"\./([\w.]+)";$', path.read_text("utf-8"), re.MULTILINE):
            back = f'"./{path.name}"' in SCRIPTS[name].read_text("utf-8")
            assert back or order.index(name) < order.index(path.name)


def test_names_that_are_exported_are_unique_and_used_as_they_are() -> None:
    names = Counter(name for path in MODULES for name in exports(path.read_text("utf-8")))
    assert len(names) > 150
    assert {name for name, n in names.items() if n > 1} == set()
    for path in MODULES:
        text = path.read_text("utf-8")
        assert len(re.findall(r"^export\b", text, re.MULTILINE)) == len(exports(text)), path.name
        assert not re.search(r"^import .*\bas\b", text, re.MULTILINE), path.name


def test_modules_are_joined_as_blocks_that_share_what_they_export() -> None:
    texts = {
        "modules/main.js": 'import { a } from "./a.js";\nimport "./b.js";\na();\n',
        "modules/a.js": 'import { b } from "./b.js";\nexport function a() {\n  b();\n}\n',
        "modules/b.js": 'import { a } from "./a.js";\nexport const b = () => a;\n',
    }
    assert bundled(texts, "modules/main.js").splitlines() == [
        "let b, a;",
        *("// modules/b.js", "{", "b = () => a;", "}"),
        *("// modules/a.js", "{", "a = a$;", "function a$() {", "  b();", "}", "}"),
        *("// modules/main.js", "{", "a();", "}"),
    ]


def test_what_is_imported_exists() -> None:
    for path in MODULES:
        for name in re.findall(r'\b(?:from|import|import\() ?"([^"\n]+)"', path.read_text("utf-8")):
            own = name.removeprefix("./") in SCRIPTS
            assert own or (path.parent / name).is_file(), f"{path.name} imports {name}"


def test_another_version_leads_to_this_one(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    answer = browser.get("/scripts/000000000000/modules/main.js")
    assert answer.status_code == 302
    assert answer.headers["Cache-Control"] == "no-store"
    assert browser.get(answer.headers["Location"]).status_code == 200
    assert browser.get("/scripts/000000000000/modules/none.js").status_code == 404
    assert browser.get("/scripts/000000000000/../dashboard/web/app.py").status_code == 404


def _of(folder: Path) -> Bundle:
    return Bundle(folder=folder, own=())


def test_the_address_follows_the_content(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "main.js").write_text("export {};")
    (tmp_path / "theme_boot.js").write_text("")
    first = _of(tmp_path)
    assert first.address("theme_boot.js") == _of(tmp_path).address("theme_boot.js")
    (tmp_path / "a.css").write_text("b { color: red }")
    second = _of(tmp_path)
    assert second.version != first.version
    (tmp_path / "theme_boot.js").write_text(" ")
    assert _of(tmp_path).version != second.version


def test_systems_bring_scripts_and_sheets_that_stand_in_a_known_order(tmp_path: Path) -> None:
    assets, one, two = (tmp_path / name for name in ("assets", "one", "two"))
    for name, text in {
        "assets/modules/main.js": 'import "./core.js";\nstart();\n',
        "assets/modules/core.js": "export const known = [];\n",
        "assets/a.css": "a",
        "assets/z_narrow.css": "z",
        "one/c.css": "c",
        "one/late.js": 'import { known } from "./core.js";\nknown.push(1);\n',
        "two/b.css": "b",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    made = Bundle(folder=assets, own=(one, two))._bodies
    assert made[SHEET].decode().split("\n") == ["a", "c", "b", "z"]
    order = re.findall(r"^// modules/(\w+\.js)$", made["modules/main.js"].decode(), re.MULTILINE)
    assert order == ["core.js", "late.js", "main.js"]
    (two / "core.js").write_text("")
    with pytest.raises(ValueError, match=r"core\.js"):
        Bundle(folder=assets, own=(one, two))


def test_every_component_that_is_laid_out_is_drawn_by_a_script() -> None:
    script = Bundle()._bodies["modules/main.js"].decode()
    drawn = {name for names in re.findall(r"\{ ([\w, ]+) \}", script) for name in names.split(", ")}
    own = [kind for kind in every_kind(Drawn) if kind.__module__.startswith("dashboard.")]
    kinds = {kind._type for kind in own if not kind.__subclasses__()}
    assert len(kinds) > 15
    assert kinds <= drawn


def every_kind(of: Any) -> list[Any]:
    """The classes below one."""
    below: list[Any] = of.__subclasses__()
    return [one for kind in below for one in (kind, *every_kind(kind))]
