"""A post-mortem as one HTML file that opens anywhere: no network, no Planwatch."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, Final

from dashboard.api.encode import dump

_HERE: Final = Path(__file__).parent
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page_of(records: dict[str, Any]) -> str:
    """The file. records: of dashboard.postmortem.records_of."""
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
        f"<script>\n{_text('page.js')}</script>\n</html>\n"
    )


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
