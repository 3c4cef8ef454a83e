"""What runs on Spark left behind, for the tests to look at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def json_lines(folder: Path) -> list[dict[str, Any]]:
    """All JSON lines below a folder."""
    texts = [p.read_text() for p in sorted(folder.rglob("*.json"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]
