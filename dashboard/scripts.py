"""The page's own JavaScript: ES modules below an address that changes with their content.

``assets/modules/main.js`` imports the others by relative addresses, so a page has all of them from
one ``/scripts/<version>/`` and the browser keeps them for good: after an upgrade the index names
another version, and modules of two versions never meet. The index asks for all modules at once
(``modulepreload``), not import by import.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from flask import Flask, Response, redirect
from werkzeug.wrappers import Response as AnyResponse

ASSETS: Final = Path(__file__).resolve().parent.parent / "assets"
#: Where the addresses of scripts begin.
PREFIX: Final = "/scripts/"
BOOT: Final = "theme_boot.js"
MAIN: Final = "modules/main.js"


class Scripts:
    """The scripts below a folder, as they were when the server started."""

    def __init__(self, folder: Path = ASSETS) -> None:
        paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.js")}
        self._bodies = {name: paths[name].read_bytes() for name in sorted(paths)}
        digest = hashlib.sha256()
        for name, body in self._bodies.items():
            digest.update(f"{name} {len(body)}\n".encode() + body)
        self.version: Final = digest.hexdigest()[:12]

    def address(self, name: str) -> str:
        """Where a script is: '/scripts/1f0c8a5be2d7/modules/main.js'."""
        return f"{PREFIX}{self.version}/{name}"

    def head(self) -> str:
        """Tags for the head: the theme before the first paint, and all modules to fetch ahead."""
        modules = [name for name in self._bodies if name.startswith("modules/")]
        preload = (f'<link rel="modulepreload" href="{self.address(name)}">' for name in modules)
        return "\n".join((f'<script src="{self.address(BOOT)}"></script>', *preload))

    def start(self) -> str:
        """The tag that runs the modules; the last thing they do is to start Dash's renderer."""
        return f'<script id="_dash-renderer" type="module" src="{self.address(MAIN)}"></script>'

    def install(self, server: Flask) -> None:
        """Serve them; the address of another version leads to the one of this."""

        @server.get(f"{PREFIX}<version>/<path:name>")
        def _script(version: str, name: str) -> AnyResponse:
            if name not in self._bodies:
                return Response(status=404)
            if version != self.version:
                return redirect(self.address(name))
            return Response(self._bodies[name], mimetype="text/javascript")
