"""Records to JSON: dataclasses and named tuples to objects, NaN and infinities to null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """The value as dict, list, str, int, float, bool or None, ready for strict JSON."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def dump(value: Any) -> str:
    """Strict, compact JSON of any record or collection of records."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
