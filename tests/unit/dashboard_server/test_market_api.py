"""What a limit would do to the bids of a batch, asked of a recording by way of the interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from storage.vocabulary.market import BIDS
from tests.unit.dashboard_server.site import BEARER, open_recording
from tests.web.joins_run import UNIT, JoinsRun

RUN = "keys"
OWN = f"knob=pool_bytes&scope={UNIT}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JoinsRun, FlaskClient]]:
    """A run of a join with caches, and a browser that looks at its recording."""
    path = tmp_path_factory.mktemp("market") / "runs.db"
    run = JoinsRun(path, RUN).ticks(5)
    with open_recording(path) as app:
        yield run, app.server.test_client()
    run.close()


def asked(browser: FlaskClient, query: str, status: int = 200) -> dict[str, Any]:
    answer = browser.get(f"/api/v1/runs/{RUN}/market?{query}", headers=BEARER)
    assert answer.status_code == status
    told: dict[str, Any] = answer.get_json()
    return told


def test_the_limit_in_force_comes_to_what_was_granted(
    recorded: tuple[JoinsRun, FlaskClient],
) -> None:
    run, browser = recorded
    for batch in (3, 4):
        stored = run.reader.matrix(RUN, BIDS, batch)
        assert stored is not None
        matrix = stored.matrix
        given = [row[matrix.columns.index("granted_bytes")] for row in matrix.values]
        caches = run.reader.values(RUN, batch)
        assert given == [caches[cache]["granted_bytes"] for cache in matrix.rows]
        told = asked(browser, f"{OWN}&value=65536&at={batch}")
        assert list(told["granted"].values()) == given
        assert told["words"].startswith("nobody has to give way, and nobody gains; ")


def test_a_smaller_limit_is_kept_by_all_together(
    recorded: tuple[JoinsRun, FlaskClient],
) -> None:
    _, browser = recorded
    for query in (OWN, "knob=run_pool_bytes"):
        told = asked(browser, f"{query}&value=4096")
        assert 0 < sum(told["granted"].values()) <= 4096
        assert " goes, with " in told["words"] or " gives " in told["words"]
        assert told["price"] > 0
    assert asked(browser, "knob=run_pool_bytes&value=0")["price"] is None


def test_other_knobs_limit_nothing_and_what_is_no_size_is_refused(
    recorded: tuple[JoinsRun, FlaskClient],
) -> None:
    _, browser = recorded
    told = asked(browser, "knob=interval_tuples&value=5")
    assert told["words"] == "The knob neither limits nor prices a bid."
    assert told["granted"] == asked(browser, "knob=run_pool_bytes&value=0")["granted"]
    asked(browser, f"{OWN}&value=-1", status=422)
    asked(browser, f"{OWN}&value=many", status=422)
    asked(browser, "value=4096", status=422)
