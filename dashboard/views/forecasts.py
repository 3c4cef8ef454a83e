"""Forecasts of turns, as they were made, beside what the turns came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dashboard.views.effects import KnobEffect
from dashboard.views.numbers import MeanInterval

#: In the payload of a request that turns a knob.
FORECAST: Final = "forecast"
_LONGEST_WORDS: Final = 400


class Judged(NamedTuple):
    """What a turn did. near: over the first batches or evaluations, as many as a verdict takes;
    is_final: more of them do not change it; whole: up to the next turn or to now, None where that
    is the same."""

    near: KnobEffect
    is_final: bool
    whole: KnobEffect | None = None


class Forecast(NamedTuple):
    """What a turn was expected to do. share: of the cost ``quantity`` (-0.08 = 8 % less), None
    where only words were given."""

    words: str
    quantity: str = ""
    share: MeanInterval | None = None

    @classmethod
    def of(cls, effect: KnobEffect) -> Forecast | None:
        """Of a preview; None where it told nothing."""
        return None if effect.share is None else cls(effect.words, effect.quantity, effect.share)

    @classmethod
    def recorded(cls, payload: Mapping[str, Any]) -> Forecast | None:
        """As recorded with a request; None where there was none, or none that can be read."""
        recorded = payload.get(FORECAST)
        if not isinstance(recorded, Mapping) or not isinstance(recorded.get("words"), str):
            return None
        words, quantity = recorded["words"][:_LONGEST_WORDS], str(recorded.get("quantity") or "")
        return cls(words, quantity, _interval(recorded.get("share")))

    def record(self) -> dict[str, Any]:
        """As a request keeps it."""
        share = None if self.share is None else [*self.share]
        return {"words": self.words, "quantity": self.quantity, "share": share}

    def verdict(self, effect: KnobEffect | None) -> str:
        """Whether it came true; '' while that cannot be compared.

        A forecast came true where both intervals meet and what was measured has its sign for
        certain; it was wrong where they do not meet.
        """
        expected, measured = self.share, None if effect is None else effect.share
        if effect is None or expected is None or measured is None:
            return ""
        if effect.quantity != self.quantity:
            return f"of another quantity than {self.quantity}"
        if measured.high < expected.low or measured.low > expected.high:
            return "it was wrong"
        is_sure = not measured.low <= 0 <= measured.high
        return "it came true" if is_sure and measured.mean * expected.mean > 0 else "not certain"


def _interval(parts: Any) -> MeanInterval | None:
    is_one = isinstance(parts, list) and len(parts) == len(MeanInterval._fields)
    if not is_one or not all(type(part) in (int, float) for part in parts):
        return None
    return MeanInterval(*parts)
