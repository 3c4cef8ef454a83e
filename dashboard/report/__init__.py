"""A post-mortem as one HTML file that opens anywhere: no network, no Planwatch.

Its plan is laid out by the modules of the Plan page, which the file has inside.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any, Final

from dashboard.serving.bundle import ASSETS, FOLDER, bundled
from dashboard.serving.encode import dump

_HERE: Final = Path(__file__).parent
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
#: In comments of modules, where a type is of another one.
_TYPE_OF: Final = re.compile(r'import\("\./\w+\.js"\)\.')
_PAGE: Final = f"{FOLDER}page.js"
#: What a module of a library ends with: export{T as Graph,Oe as layout};
_EXPORTS: Final = re.compile(r"export\{([^}]*)\};?")


def page_of(records: dict[str, Any]) -> str:
    """The file. records: of dashboard.report.postmortem.records_of."""
    run = records["run"]
    title = escape(f"{run['workload']} · {run['id']} · post-mortem")
    data = dump(records).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_text('page.css')}</style>\n</head>\n"
        f"{_text('page.html')}"
        f'<script type="application/json" id="records">{data}</script>\n'
        f'<script type="module">\n{_script()}</script>\n</html>\n'
    )


def _script() -> str:
    """The library that lays out graphs, the modules of the Plan page, and the page's own."""
    kept = ASSETS / "vendor"
    library = (kept / "dagre.esm.js").read_text("utf-8")
    licence = (kept / "dagre.LICENSE").read_text("utf-8").strip()
    match = _EXPORTS.search(library)
    assert match is not None, "the library exports what it is for"
    pairs = (export.split(" as ") for export in match[1].split(","))
    names = ", ".join(f"{given}: {own}" for own, given in pairs if given in ("Graph", "layout"))
    modules = (ASSETS / FOLDER).glob("*.js")
    texts = {f"{FOLDER}{path.name}": path.read_text("utf-8") for path in modules}
    own = _TYPE_OF.sub("", bundled(texts | {_PAGE: _text("page.js")}, _PAGE))
    return (
        f"/*! dagre\n{licence}\n*/\nconst dagre = (() => {{\n{library[: match.start()]}\n"
        f"return {{ {names} }};\n}})();\n{own}"
    )


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
