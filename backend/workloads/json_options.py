"""Options of sources that are JSON."""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str) -> Any:
    """The value of an option, None where it is no JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def is_number(value: object) -> bool:
    """Whether it is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)
