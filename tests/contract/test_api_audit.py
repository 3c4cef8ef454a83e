"""Who changed what: names in the audit, and what was refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.test_api import RUN, error_of, get, turn
from tests.unit.dashboard_server.site import BEARER, Site, open_site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


def test_what_names_nothing_there_is_is_in_the_log_too(site: Site) -> None:
    wrong = turn(site, "nu", 1), turn(site, "mu", 0.2, unless_kept_s=0)
    gone = site.browser().delete(f"{RUN}/queries/nobody", headers=BEARER)
    assert [answer.status_code for answer in (*wrong, gone)] == [404, 422, 404]
    kept = get(site, f"{RUN}/commands")
    said = {error_of(answer)["message"] for answer in (*wrong, gone)}
    assert {one["answer"] for one in kept} == said
    assert {one["state"] for one in kept} == {"refused"}
    assert {one["kind"]: one["payload"].get("name") for one in kept}["query_remove"] == "nobody"


@pytest.mark.parametrize(
    ("name", "actor"),
    [
        ("Ann", "Ann (api 127.0.0.1)"),
        ("%C3%89va%20B", "Éva B (api 127.0.0.1)"),
        (" ", "api 127.0.0.1"),
    ],
)
def test_a_name_is_in_the_audit(site: Site, name: str, actor: str) -> None:
    headers = {**BEARER, "X-Planwatch-Name": name}
    body = {"knob": "mu", "value": 0.2}
    answer = site.browser().post(f"{RUN}/commands", json=body, headers=headers)
    assert answer.get_json()["actor"] == actor


@pytest.mark.parametrize("name", ["a" * 41, "a%00b"])
def test_a_name_that_cannot_be_one_is_refused(site: Site, name: str) -> None:
    headers = {**BEARER, "X-Planwatch-Name": name}
    body = {"knob": "mu", "value": 0.2}
    answer = site.browser().post(f"{RUN}/commands", json=body, headers=headers)
    assert answer.status_code == 400
    assert error_of(answer)["code"] == "bad_name"
