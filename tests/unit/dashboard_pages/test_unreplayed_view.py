"""Every knob is previewed from the record or says in one sentence why not."""

from __future__ import annotations

import pytest

from backend.engine.knobs import KNOBS
from dashboard.base.face import told
from dashboard.components.names import is_listed
from dashboard.systems.asc.recorded_trials import REPLAYED
from dashboard.views.unreplayed import WHY, why_not

#: Systems, inputs and the engine have these.
ALL = {spec.name for spec in KNOBS}
CHOSEN = told("chosen")
LISTED = {**told("unreplayed"), **WHY}


@pytest.mark.parametrize("name", sorted(ALL - {*REPLAYED, *CHOSEN}))
def test_a_knob_that_is_not_previewed_says_why(name: str) -> None:
    assert name in LISTED
    assert why_not(name).endswith(".")
    assert "\n" not in why_not(name)


def test_nothing_is_said_of_knobs_there_are_not() -> None:
    assert set(LISTED) <= ALL
    assert {*REPLAYED, *CHOSEN} <= ALL


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_knob_has_words_for_people(name: str) -> None:
    assert is_listed(name) or name in ("load", "shards")
