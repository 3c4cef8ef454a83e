"""Words and numbers as every decision core says them."""

from __future__ import annotations

import math
from typing import Final

from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Event
from storage.vocabulary.words import arrows, count, significant

__all__ = [
    "REFILLED",
    "arrows",
    "count",
    "number",
    "numbers",
    "percent",
    "significant",
    "size",
    "too_thin",
    "why_kept",
]

#: Of a run that goes on: what was sampled before is gone.
REFILLED: Final = Event(
    "run",
    "profile window is being refilled",
    "the run resumes with its plan; samples taken before it stopped are lost",
)


def number(value: float) -> str:
    """Three significant digits, at least two decimals: ``2.31``, ``0.843``, ``0.00``."""
    return f"{value:.2f}" if value == 0 or abs(value) >= 1 else f"{value:.3g}"


def numbers(first: float, second: float) -> tuple[str, str]:
    """Two numbers as ``number`` writes them, with decimals added until they differ."""
    if number(first) != number(second) or first == second:
        return number(first), number(second)
    digits = next((d for d in range(3, 9) if f"{first:.{d}f}" != f"{second:.{d}f}"), 9)
    return f"{first:.{digits}f}", f"{second:.{digits}f}"


def size(n_bytes: float) -> str:
    """Bytes in three digits: ``0 B``, ``10.5 KiB``, ``1.15 MiB``."""
    exponent = min(4, max(0, int(math.log2(abs(n_bytes) or 1)) // 10))
    scaled = n_bytes / 1024**exponent
    digits = 0 if not exponent or abs(scaled) >= 99.95 else 1 if abs(scaled) >= 9.995 else 2
    return f"{scaled:.{digits}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[exponent]}"


def percent(share: float, signed: bool = False) -> str:
    """``34 %``; one decimal below 10 %; ``+`` or ``-`` in front when signed."""
    value = 100 * share
    digits = 0 if abs(value) >= 10 or value == 0 else 1
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return f"{text} %"


def too_thin(have: int, need: int, what: str) -> str:
    """``not acted on, 120 sampled tuples of the 200 needed``."""
    return f"not acted on, {count(have)} {what} of the {count(need)} needed"


def why_kept(verdict: Verdict, held: int, least_samples: int, cooldown_tuples: int) -> str:
    """Why the order stays as it is; empty for a switch. held: tuples in the profile window."""
    ends: dict[Verdict, str] = {
        "switched": "",
        "thin": too_thin(held, least_samples, "profile tuples"),
        "cooldown": f"not acted on within {cooldown_tuples} tuples of the last switch",
        "pinned": "not acted on, the order is fixed",
    }
    return ends.get(verdict, "order kept")
