"""Names for people: every property and knob has one, and none shows the record's."""

from __future__ import annotations

import pytest

from backend.engine.knobs import KNOBS
from dashboard.base.face import told
from dashboard.components.names import NAMES, named, words_of
from storage.vocabulary import registry

NAMED = sorted({*registry.KNOWN.properties, *(spec.name for spec in KNOBS), *NAMES, *told("words")})


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_words(name: str) -> None:
    words = words_of(name)
    assert "_" not in words
    assert words[0].isupper()
    assert len(words) <= 32


def test_a_part_of_a_system_is_named_with_its_system() -> None:
    assert words_of("asc.macro_sequence") == "Attribute selection constructs, macro sequence"
    assert words_of("asc.") == "Asc."


def test_an_unlisted_name_loses_its_unit() -> None:
    assert words_of("evicted_tuples") == "Evicted"
    assert words_of("n_regions") == "Regions"
    assert words_of("tuples") == "Tuples"


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("moved by 0.03, less than mu = 0.1", "moved by 0.03, less than Threshold μ = 0.1"),
        ("only 1 % less where min_gain = 5 % is", "only 1 % less where Least gain = 5 % is"),
        ("+34 % ≥ μ = 10 % on n = 9 tuples", "+34 % ≥ μ = 10 % on n = 9 tuples"),
    ],
)
def test_a_sentence_calls_a_knob_what_its_card_does(sentence: str, told: str) -> None:
    assert named(sentence) == told
