"""What experiments came to, kept as JSON: on it rest the verdicts that docs/papers.md tells.

Figure -> {"title", "conditions": {name: value}, "claims": [{"claim", "verdict", "number"}]}.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.experiments.results import FigureResult


def keep(path: Path, results: Sequence[FigureResult]) -> None:
    """Put the figures into the record, in place of what they came to before; others stay."""
    known: dict[str, Any] = {}
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
    known |= {result.key: _kept(result) for result in results}
    text = json.dumps(dict(sorted(known.items())), ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def _kept(result: FigureResult) -> dict[str, Any]:
    claims = [
        {"claim": claim.text, "verdict": claim.verdict, "number": claim.number}
        for claim in result.claims
    ]
    return {"title": result.title, "conditions": dict(result.setup), "claims": claims}
