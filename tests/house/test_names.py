"""Names for people: every property and knob has one, and none shows the record's."""

from __future__ import annotations

from typing import get_args

import pytest

from backend.engine.knobs import KNOBS
from backend.systems.registry import CORES, SYSTEMS
from dashboard.base.face import told
from dashboard.components.kinds import EVENTS, STATES, VERDICTS, Tone, node_kind
from dashboard.components.names import NAMES, named, words_of
from dashboard.views.standing import Word
from storage.vocabulary import registry
from storage.vocabulary.kinds import CommandState, EventKind, RunState, Verdict

_KNOBS = {
    spec.name
    for specs in (KNOBS, *(system.knobs for system in SYSTEMS), *(core.knobs for core in CORES))
    for spec in specs
}
NAMED = sorted({*registry.KNOWN.properties, *_KNOBS, *NAMES, *told("words")})


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_words(name: str) -> None:
    words = words_of(name)
    assert "_" not in words
    assert words[0].isupper()
    assert len(words) <= 32


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_a_verdict_has_a_word_and_a_meaning(verdict: str) -> None:
    assert VERDICTS[verdict].word
    assert VERDICTS[verdict].meaning.endswith(".")


@pytest.mark.parametrize("kind", get_args(EventKind))
def test_a_kind_of_event_has_a_word(kind: str) -> None:
    assert EVENTS[kind].word[0].isupper()


@pytest.mark.parametrize("state", [*get_args(RunState), *get_args(CommandState), *get_args(Word)])
def test_a_state_has_a_tone(state: str) -> None:
    assert STATES[state] in get_args(Tone)


@pytest.mark.parametrize("role", registry.KNOWN.roles)
def test_a_role_is_drawn_with_a_sign_and_a_word(role: str) -> None:
    kind = node_kind(role)
    assert kind.word, role
    assert kind.sign or kind.icon, role


@pytest.mark.parametrize("matrix", registry.KNOWN.matrices)
def test_a_kind_of_matrix_is_words(matrix: str) -> None:
    assert "_" not in words_of(matrix)
    assert words_of(matrix)[0].isupper()


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
