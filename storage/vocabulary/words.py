"""Numbers and orders as sentences of decisions say them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def arrows(order: Sequence[str]) -> str:
    """``dep_delay → origin → carrier``."""
    return " → ".join(order) if order else "(nothing)"


def count(n: int) -> str:
    """A number of tuples with thousands apart: ``5 000``."""
    return f"{n:,}".replace(",", " ")


def significant(value: float) -> str:
    """Three significant digits of a number of any size: ``0.0312``, ``2.31``, ``140``, ``∞``."""
    if math.isinf(value):
        return "∞"
    if value and abs(value) < 1e-4:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa} × 10{str(int(exponent)).translate(_RAISED)}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
