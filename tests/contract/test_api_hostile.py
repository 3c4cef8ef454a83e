"""No request breaks the server, and no text gets into the store that cannot be read back."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from werkzeug.test import TestResponse

from dashboard.api.routes import document
from tests.unit.dashboard_server.site import BEARER, Site, open_site

RUN = "/api/v1/runs/r1"
NASTY = ["\ud800", "a\udfffb", "\0", "x\0", "\ud83d"]
#: Streams of events never end; the others answer once.
OPERATIONS = [
    (method.upper(), path, operation)
    for path, operations in document()["paths"].items()
    for method, operation in operations.items()
    if path != "/live"
]
WORDS = [
    *("r1", "mu", "trigger", "origin", "long_delay", "asc:origin", "system", "batch_ms", "q1", ""),
    *(
        "Select * From Flights",
        "Select * From S Where " + "not " * 300 + "a",
        " " * 9000,
        "../..",
        "é",
    ),
    *("-1", "0", "3", "1e9", "9" * 400, "nan", "true", "null", "{}", "%00", "\t", "<script>"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("hostile")) as opened:
        yield opened


def send(site: Site, method: str, path: str, **more: Any) -> TestResponse:
    """The answer, read to its end and closed as a server does."""
    return site.browser().open(path, method=method, headers=BEARER, buffered=True, **more)


def scalar(chance: random.Random) -> Any:
    plain: list[Any] = [
        None,
        True,
        False,
        0,
        -1,
        0.5,
        1e308,
        10**30,
        float("nan"),
        float("inf"),
        [],
        {},
    ]
    return chance.choice([*plain, *WORDS, *NASTY])


def value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON value, sometimes nested too deeply."""
    kind = chance.random()
    if kind < 0.7 or depth > 3:
        return scalar(chance)
    if kind < 0.72:
        nested: Any = 1
        for _ in range(chance.choice([90, 150, 700])):
            nested = [nested]
        return nested
    parts = [value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    names = [chance.choice([*WORDS, *NASTY]) for _ in parts]
    return parts if kind < 0.85 else dict(zip(names, parts, strict=True))


def body(chance: random.Random, operation: dict[str, Any]) -> str:
    """A body near what is documented, or far from it, as text."""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    name = schema["$ref"].rpartition("/")[2]
    fields = document()["components"]["schemas"][name]["properties"]
    whole = {field: value(chance) for field in fields if chance.random() < 0.9}
    if chance.random() < 0.2:
        whole[chance.choice([*WORDS, *NASTY])] = scalar(chance)
    text = json.dumps(whole if chance.random() < 0.85 else value(chance))
    if chance.random() < 0.1:
        place = chance.randrange(len(text) + 1)
        return text[:place] + chance.choice(["", "[" * 5000, "}", "\\ud800", "\x00", "é"])
    return text


def bombard(site: Site, seed: int, times: int) -> None:
    chance = random.Random(seed)
    writing = [found for found in OPERATIONS if "requestBody" in found[2]]
    for n in range(times):
        method, path, operation = chance.choice(writing if n % 2 else OPERATIONS)
        more: dict[str, Any] = {"query_string": {}}
        for part in operation.get("parameters", ()):
            text = str(chance.choice([*WORDS, "x\0", part["name"]]))
            if part["in"] == "path":
                text = "r1" if part["name"] == "run_id" and chance.random() < 0.8 else text
                path = path.replace("{" + part["name"] + "}", quote(text, safe=""))
            elif chance.random() < 0.6:
                more["query_string"][part["name"]] = text
        if "requestBody" in operation:
            more |= {"data": body(chance, operation), "content_type": "application/json"}
        answer = send(site, method, path, **more)
        assert answer.status_code < 500, (method, path, more)
        if answer.is_json or str(answer.mimetype).startswith("text/"):
            answer.data.decode()
    assert send(site, "GET", f"{RUN}/commands").status_code == 200


@pytest.mark.timeout(240)
def test_five_hundred_random_requests_break_nothing(site: Site) -> None:
    bombard(site, 1, 500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_five_thousand_random_requests_break_nothing(site: Site, seed: int) -> None:
    bombard(site, seed, 500)


@pytest.mark.parametrize("bad", NASTY, ids=ascii)
@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("queries", {"name": "BAD", "text": "Select * From Flights"}),
        ("queries", {"name": "fine", "text": "BAD"}),
        ("queries", {"name": "fine", "text": "Select * From Flights Where origin = 'BAD'"}),
        ("queries", {"name": "fine", "text": "Select * From Flights", "reason": "BAD"}),
        ("queries", {"name": "fine", "text": "Select * From Flights", "BAD": 1}),
        ("commands", {"knob": "BAD", "value": 1}),
        ("commands", {"knob": "trigger", "value": "BAD"}),
        ("commands", {"knob": "mu", "value": {"deep": ["BAD"]}}),
        ("commands", {"knob": "mu", "value": 0.2, "reason": "BAD"}),
    ],
)
def test_text_that_cannot_be_stored_is_refused_before_it_is(
    site: Site, path: str, asked: dict[str, Any], bad: str
) -> None:
    before = send(site, "GET", f"{RUN}/commands").get_json()
    text = json.dumps(asked).replace("BAD", json.dumps(bad)[1:-1])
    answer = send(site, "POST", f"{RUN}/{path}", data=text, content_type="application/json")
    assert answer.status_code == 422, answer.text
    assert "no character that can be stored" in answer.get_json()["error"]["message"]
    assert send(site, "GET", f"{RUN}/commands").get_json() == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/runs/%00"),
        ("GET", f"{RUN}/results?query=%00"),
        ("GET", f"{RUN}/samples?entity=system%00&property=batch_ms"),
        ("POST", f"{RUN}/queries/q%00/pause"),
        ("DELETE", f"{RUN}/queries/long_delay?reason=%00"),
        ("DELETE", f"{RUN}/queries?name=%00"),
    ],
)
def test_nul_in_a_path_or_parameter_is_refused(site: Site, method: str, path: str) -> None:
    assert send(site, method, path).status_code == 422


@pytest.mark.parametrize("depth", [101, 5000, 100_000])
def test_json_nested_too_deeply_is_a_bad_request(site: Site, depth: int) -> None:
    text = '{"knob": "mu", "value": ' + "[" * depth + "]" * depth + "}"
    more = {"data": text, "content_type": "application/json"}
    for path in (f"{RUN}/commands", "/_dash-update-component"):
        answer = send(site, "POST", path, **more)
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "bad_json")


def test_a_store_that_holds_a_poisoned_command_answers(tmp_path: Path) -> None:
    """As versions before this one stored them: half a surrogate pair, as an escape in JSON."""
    with open_site(tmp_path) as site:
        asked = {"name": "p", "text": "Select * From Flights"}
        number = send(site, "POST", f"{RUN}/queries", json=asked).get_json()["id"]
        with sqlite3.connect(tmp_path / "runs.db") as store:
            payload = r'{"name": "p\ud83d\ude00", "text": "\ud800 or \udfff", "\ud800": 1}'
            store.execute("UPDATE commands SET payload = ? WHERE id = ?", (payload, number))
        store.close()
        answer = send(site, "GET", f"{RUN}/commands")
        assert answer.status_code == 200
        shown = answer.get_json()[-1]["payload"]
        assert shown == {"name": "p\U0001f600", "text": "? or ?", "?": 1}
        (pending,) = site.writer.pending_commands("r1")
        json.dumps(pending.payload, ensure_ascii=False).encode()
