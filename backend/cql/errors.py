"""What is wrong with a CQL text, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_WINDOW: Final = 96


class CqlError(ValueError):
    """A CQL text that is refused: ``str`` is one sentence with its position, then a caret excerpt.

    line and column count from 1, in characters. message: the sentence without its position;
    excerpt: the source line with carets under the place, or '' when the text is not known.
    """

    def __init__(
        self, message: str, line: int, column: int, text: str = "", width: int = 1
    ) -> None:
        self.message, self.line, self.column = message, line, column
        self.excerpt = _excerpt(text, line, column, width)
        super().__init__(self.sentence + ("\n" + self.excerpt if self.excerpt else ""))

    @property
    def sentence(self) -> str:
        """The message with its position, on one line."""
        return f"line {self.line}, column {self.column}: {self.message}"


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` when a known name is close to ``wrong``, else ``''``."""
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(wrong.lower(), list(by_lower), n=1, cutoff=0.6)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def listed(words: Iterable[str], last: str = "or", limit: int = 12) -> str:
    """``a, b or c``; at most ``limit`` words, then how many more there are."""
    words = list(words)
    if len(words) > limit:
        return f"{', '.join(words[:limit])} and {len(words) - limit} more"
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _excerpt(text: str, line: int, column: int, width: int) -> str:
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return ""
    source = lines[line - 1].rstrip("\r").expandtabs(1)
    start = max(0, min(column - 1 - _WINDOW // 2, len(source) - _WINDOW))
    shown = source[start : start + _WINDOW]
    offset = column - 1 - start
    carets = "^" * max(1, min(width, len(shown) - offset))
    return f"  {shown}\n  {' ' * offset}{carets}"
