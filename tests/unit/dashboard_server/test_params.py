"""Query parameters and bodies: what is allowed passes typed, the rest is told in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask, request
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.api.params import Param, read_body, read_query
from dashboard.serving.errors import ApiError

LIMIT = Param("limit", "integer", "How many.", default=100, low=1, high=1000)
ENTITY = Param("entity", "string", "Entity id.", required=True)


@dataclass(frozen=True)
class Body:
    """A body."""

    knob: str
    value: Any
    version: int | None = None


def test_defaults_are_filled_in() -> None:
    assert read_query((LIMIT, ENTITY), {"entity": "system"}) == {"limit": 100, "entity": "system"}


@pytest.mark.parametrize(
    ("given_query", "words"),
    [
        ({"entity": "x", "limit": "0"}, "limit = 0 refused: allowed a whole number in 1..1000"),
        ({"entity": "x", "limit": "many"}, "limit = many refused"),
        ({"limit": "5"}, "The parameter entity is needed"),
        ({"entity": "x", "limt": "5"}, "There is no parameter 'limt' here; known: limit, entity"),
        ({"entity": "x" * 201}, "text of at most 200 characters"),
    ],
)
def test_a_wrong_parameter_is_refused(given_query: dict[str, str], words: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_query((LIMIT, ENTITY), given_query)
    assert caught.value.status == 422
    assert words in caught.value.message


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_value_in_range_or_a_422(text: str) -> None:
    allowed = [str(number) for number in range(1, 1001)]
    if text in allowed:
        assert LIMIT.read(text) == int(text)
        return
    try:
        value = LIMIT.read(text)
    except ApiError:
        return
    assert 1 <= value <= 1000


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400"])
def test_no_number_is_refused(text: str) -> None:
    with pytest.raises(ApiError):
        Param("since", "number", "From when.").read(text)


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ("{", "application/json", 400),
        ("[1]", "application/json", 400),
        ("{}", "text/plain", 415),
        ('{"knob": "mu"}', "application/json", 422),
        ('{"knob": 3, "value": 1}', "application/json", 422),
        ('{"knob": "mu", "value": 1, "extra": 2}', "application/json", 422),
        ('{"knob": "mu", "value": 1, "version": "1"}', "application/json", 422),
        ('{"knob": "mu", "value": 1, "version": true}', "application/json", 422),
    ],
)
def test_a_wrong_body_is_refused(body: str, content_type: str, status: int) -> None:
    context = Flask("t").test_request_context(method="POST", data=body, content_type=content_type)
    with context, pytest.raises(ApiError) as caught:
        read_body(Body, request)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"knob": "mu", "value": 1, "knob": "nu"}', "'knob'"),
        ('{"knob": "mu", "value": {"deep": [{"a": 1, "b": 2, "a": 1}]}}', "'a'"),
        ('{"knob": "mu", "value": 1, "\\ud800": 1, "\\ud800": 2}', r"'\ud800'"),
    ],
)
def test_a_key_twice_is_refused_by_its_name(body: str, key: str) -> None:
    given = {"data": body, "content_type": "application/json"}
    with Flask("t").test_request_context(method="POST", **given), pytest.raises(ApiError) as caught:
        read_body(Body, request)
    assert (caught.value.status, caught.value.code) == (400, "bad_json")
    assert caught.value.message == f"The body has the key {key} twice in one object."


def test_a_right_body_is_typed() -> None:
    with Flask("t").test_request_context(method="POST", json={"knob": "mu", "value": [1]}):
        assert read_body(Body, request) == Body("mu", [1])
