"""The page's JavaScript and styles: Dash's script, our own, one sheet; made when the server starts.

``assets/modules`` and the scripts of systems, which stand with their panels, are ES modules that
import each other by name, ``./core.js``, wherever they stand: a name is given once. ``main.js`` is
served with all it imports and then the scripts of systems, each module a block after those it
imports itself, so a page asks once. The sheet is that of ``assets`` by name, then those of systems
in the order of FACES, then those of ``assets`` whose names begin with ``z_``.
What modules export stands outside of the blocks, under names that are unique; a test holds that.
What Dash would have a page load file by file is one script too, with the chunk that draws figures.
The addresses change with the content, and the browser keeps what it got for good.
"""

from __future__ import annotations

import gzip
import hashlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from dash.fingerprint import check_fingerprint
from flask import Flask, Response, redirect
from werkzeug.wrappers import Response as AnyResponse

from dashboard.base.face import faces
from dashboard.base.prefix import below

ASSETS: Final = Path(__file__).resolve().parents[2] / "assets"
#: Where the addresses begin.
PREFIX: Final = "/scripts/"
BOOT: Final = "theme_boot.js"
LATE: Final = "late_boot.js"
FOLDER: Final = "modules/"
MAIN: Final = f"{FOLDER}main.js"
SHEET: Final = "styles.css"
LIBRARY: Final = "dash-renderer.js"
PLOTLY: Final = "vendor/plotly.min.js"
#: What no page has: tables of Dash.
_UNUSED: Final = "dash_table/"
_DASH: Final = re.compile(r'src="[^"]*/_dash-component-suites/(\w+)/([^"]+)"')
_IMPORT: Final = re.compile(r'^import (?:\{[^}]*\} from )?"\./([\w.]+)";\n', re.MULTILINE)
_FUNCTION: Final = re.compile(r"^export ((?:async )?function) (\w+)", re.MULTILINE)
_VALUE: Final = re.compile(r"^export (?:const|let) (\w+)", re.MULTILINE)
_TYPES: Final = {".js": "text/javascript", ".css": "text/css"}


class Bundle:
    """The scripts and styles below a folder, as they were when the server started.

    tags: those by which Dash would load its scripts. own: folders of systems, None = of all faces.
    """

    def __init__(
        self, tags: str = "", folder: Path = ASSETS, own: Sequence[Path] | None = None
    ) -> None:
        paths = (path for path in sorted(folder.rglob("*.js")))
        texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}
        folders = [face.folder for face in faces()] if own is None else own
        scripts = scripts_of(folders)
        twice = scripts.keys() & texts.keys()
        if twice:
            raise ValueError(f"a script of a system has the name of another: {sorted(twice)}")
        texts |= scripts
        texts[MAIN] += "".join(f'import "./{name.removeprefix(FOLDER)}";\n' for name in scripts)
        texts[MAIN] = bundled(texts, MAIN)
        texts |= {SHEET: sheet(folder, folders), LIBRARY: library(tags)}
        self._bodies = {name: text.encode() for name, text in texts.items()}
        for path in sorted(folder.rglob("*.js.gz")):
            self._bodies[path.relative_to(folder).with_suffix("").as_posix()] = unpacked(path)
        digest = hashlib.sha256()
        for name, body in self._bodies.items():
            digest.update(f"{name} {len(body)}\n".encode() + body)
        self.version: Final = digest.hexdigest()[:12]

    def address(self, name: str) -> str:
        """Where a file is: '/scripts/1f0c8a5be2d7/modules/main.js', below the proxy's prefix."""
        return below(f"{PREFIX}{self.version}/{name}")

    def head(self, with_figures: bool) -> str:
        """Tags for the head: the theme before the first paint, what tells of scripts that are
        refused, the styles, the script ahead; and plotly, which modules/chart.js runs while the
        page is asked for."""
        tags = [
            f'<script src="{self.address(BOOT)}"></script>',
            f'<script defer src="{self.address(LATE)}"></script>',
            f'<link rel="modulepreload" href="{self.address(MAIN)}">',
            f'<link rel="stylesheet" href="{self.address(SHEET)}">',
        ]
        if with_figures:
            tags.append(f'<link rel="preload" as="script" href="{self.address(PLOTLY)}">')
        return "\n".join(tags)

    def library(self) -> str:
        """The tag that loads Dash."""
        return f'<script src="{self.address(LIBRARY)}"></script>'

    def start(self) -> str:
        """The tag that runs the modules; the last thing they do is to start Dash's renderer."""
        return f'<script id="_dash-renderer" type="module" src="{self.address(MAIN)}"></script>'

    def install(self, server: Flask) -> None:
        """Serve them; the address of another version leads to the one of this."""

        @server.get(f"{PREFIX}<version>/<path:name>")
        def _file(version: str, name: str) -> AnyResponse:
            if name not in self._bodies:
                return Response(status=404)
            if version != self.version:
                return redirect(self.address(name))
            return Response(self._bodies[name], mimetype=_TYPES[Path(name).suffix])


def library(tags: str) -> str:
    """Dash's own scripts as one, in their order. tags: one script each, with a fingerprint."""
    wanted = [(package, _bare(name)) for package, name in _DASH.findall(tags)]
    wanted = [file for file in wanted if not file[1].startswith(_UNUSED)]
    bodies = (pkgutil.get_data(package, name) or b"" for package, name in wanted)
    return "".join(f"{body.decode('utf-8')}\n;\n" for body in bodies)


def _bare(name: str) -> str:
    """The name of a file without its fingerprint."""
    return str(check_fingerprint(name)[0])  # type: ignore[no-untyped-call]  # dash has no types here


def unpacked(path: Path) -> bytes:
    """A script that is kept compressed."""
    return gzip.decompress(path.read_bytes())


def bundled(texts: Mapping[str, str], entry: str) -> str:
    """A module with all it imports, as one. texts: by path below ``assets``."""
    names = list(_in_order(texts, entry, set()))
    exported = [export for name in names for export in exports(texts[name])]
    blocks = (f"// {name}\n{{\n{_block(texts[name])}}}\n" for name in names)
    return f"let {', '.join(exported)};\n{''.join(blocks)}"


def exports(text: str) -> list[str]:
    """The names a module exports."""
    return [*_VALUE.findall(text), *(name for _, name in _FUNCTION.findall(text))]


def _block(text: str) -> str:
    """A module without its imports, setting what it exports; functions first, as they are known
    in all of a module."""
    functions = "".join(f"{name} = {name}$;\n" for _, name in _FUNCTION.findall(text))
    return functions + _VALUE.sub(r"\1", _FUNCTION.sub(r"\1 \2$", _IMPORT.sub("", text)))


def _in_order(texts: Mapping[str, str], name: str, met: set[str]) -> Iterator[str]:
    """Each module after those it imports, as a browser runs them."""
    met.add(name)
    for imported in _IMPORT.findall(texts[name]):
        if FOLDER + imported not in met:
            yield from _in_order(texts, FOLDER + imported, met)
    yield name


def scripts_of(folders: Sequence[Path]) -> dict[str, str]:
    """The scripts of systems, as if they stood among the modules. Raises ValueError for a name that
    two have."""
    paths = [path for folder in folders for path in sorted(folder.glob("*.js"))]
    scripts = {f"{FOLDER}{path.name}": path.read_text("utf-8") for path in paths}
    if len(scripts) < len(paths):
        raise ValueError(f"two scripts have one name: {sorted(path.name for path in paths)}")
    return scripts


def sheet(folder: Path, own: Sequence[Path]) -> str:
    """The style sheets of a folder and of systems, in their order; what they name is found from
    another address, too."""
    base, last = (
        [path for path in sorted(folder.glob("*.css")) if path.name.startswith("z_") is wanted]
        for wanted in (False, True)
    )
    paths = [*base, *(path for system in own for path in sorted(system.glob("*.css"))), *last]
    texts = (path.read_text("utf-8") for path in paths)
    return "\n".join(texts).replace('url("', 'url("../../assets/')
