"""Which texts a store can keep: those without NUL and without halves of surrogate pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")


def why_unstorable(value: Any) -> str | None:
    """Which character in the texts of a JSON value, its keys included, no store keeps.

    None when all can be kept. The words never hold the character itself.
    """
    open_values = [value]
    while open_values:
        part = open_values.pop()
        if isinstance(part, str):
            match = _NO_TEXT.search(part)
            if match is not None:
                return f"U+{ord(match[0]):04X} is no character that can be stored"
        elif isinstance(part, Mapping):
            open_values += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple):
            open_values += part
    return None


def storable(text: str) -> str:
    """The text with a question mark for each character no store keeps."""
    return _NO_TEXT.sub("?", text)
