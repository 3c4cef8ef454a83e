"""data-* and aria-* attributes as keyword arguments."""

from __future__ import annotations

from typing import Any


def attrs(**values: Any) -> dict[str, Any]:
    """``attrs(aria_label='x', data_pw_at=3)`` -> {'aria-label': 'x', 'data-pw-at': '3'}.

    None leaves an attribute out; True and False become 'true' and 'false'. Meant for ``**``.
    """
    return {
        name.replace("_", "-"): _text(value) for name, value in values.items() if value is not None
    }


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
