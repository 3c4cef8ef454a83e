"""What a turn was expected to do, beside what it did."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dashboard.views.effects import KnobEffect
from dashboard.views.forecasts import FORECAST, Forecast
from dashboard.views.numbers import MeanInterval


def effect(mean: float, half: float, quantity: str = "visits") -> KnobEffect:
    share = MeanInterval(mean, mean - half, mean + half)
    return KnobEffect(share, None, 900, True, quantity)


EXPECTED = Forecast(effect(-0.5, 0.05).words, "visits", effect(-0.5, 0.05).share)


def test_it_is_recorded_and_read_again() -> None:
    payload = json.loads(json.dumps({"knob": "mu", FORECAST: EXPECTED.record()}))
    assert Forecast.recorded(payload) == EXPECTED
    assert Forecast.of(effect(-0.5, 0.05)) == EXPECTED
    words = Forecast("R gets 20 KiB; estimated saving +56.9 %")
    assert Forecast.recorded({FORECAST: words.record()}) == words
    assert Forecast.of(KnobEffect(None, None, 3, True)) is None


@pytest.mark.parametrize(
    "told",
    [
        None,
        "less",
        {},
        {"words": 3},
        {"words": "less", "share": [1, 2]},
        {"words": "less", "share": "123"},
        {"words": "less", "share": [0.1, "low", None]},
    ],
)
def test_what_a_stranger_wrote_into_the_record_breaks_nothing(told: Any) -> None:
    read = Forecast.recorded({FORECAST: told})
    assert read is None or read.share is None


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (effect(-0.48, 0.04), "it came true"),
        (effect(0.39, 0.1), "it was wrong"),
        (effect(-0.1, 0.02), "it was wrong"),
        (effect(-0.036, 0.492), "not certain"),
        (effect(-0.5, 0.01, "time per tuple"), "of another quantity than visits"),
        (KnobEffect(None, None, 2, True), ""),
        (None, ""),
    ],
)
def test_it_is_held_against_what_was_measured(measured: KnobEffect | None, verdict: str) -> None:
    assert EXPECTED.verdict(measured) == verdict


def test_words_alone_are_held_against_nothing() -> None:
    assert Forecast("R gets 20 KiB").verdict(effect(-0.5, 0.01)) == ""
