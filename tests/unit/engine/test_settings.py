"""Knobs of several scopes that only make sense together."""

from __future__ import annotations

import pytest

from backend.engine.job import RunJob
from backend.engine.settings import ScopedSettings, of_unit, taken_up
from backend.model.knobs import KnobRefused, KnobSettings
from backend.systems.asc.knobs import AscKnobs
from backend.systems.cals.knobs import CalsKnobs
from storage.vocabulary.records import Knob


def test_weights_are_not_all_nothing() -> None:
    knobs = KnobSettings.defaults(CalsKnobs.specs())
    both = ScopedSettings({"": KnobSettings.defaults(()), "u": knobs, "v": knobs})
    light = both.changed("u", "shed_weight", 0)
    assert light.scopes["u"].number("shed_weight") == 0
    with pytest.raises(KnobRefused) as refusal:
        light.changed("v", "shed_weight", 0)
    assert str(refusal.value) == (
        "shed_weight = 0 refused: allowed 0 while that of another unit is more: if none counts "
        "there is nothing to divide by"
    )
    assert light.changed("v", "memory_tuples", 0).scopes["v"].whole("memory_tuples") == 0
    with pytest.raises(KnobRefused):
        light.without("v").check_weights()


def given(**knobs: object) -> str:
    """Who decides in a unit whose workload gives these."""
    return of_unit(RunJob({}, (), knobs=knobs), "asc.S", AscKnobs.specs()).word("policy")


def test_a_threshold_that_is_given_decides_in_place_of_the_autopilot() -> None:
    assert given() == "autopilot"
    assert given(tau_tuples=500, profile_prob=0.5) == "autopilot"
    assert given(mu=0.2) == given(**{"asc.S/min_gain": 0.1}) == "thresholds"
    assert given(**{"asc.T/mu": 0.2}) == "autopilot"
    assert given(mu=0.2, policy="autopilot") == "autopilot"


def recorded(**values: object) -> tuple[Knob, ...]:
    return tuple(
        Knob(name, "float", value, value, "", "", scope="asc.S") for name, value in values.items()
    )


def test_who_decides_is_kept_unless_a_threshold_is_given_anew() -> None:
    specs = AscKnobs.specs()
    now, asked = KnobSettings.defaults(specs), frozenset[str]()
    piloted, of_before = recorded(mu=0.3, policy="autopilot"), recorded(mu=0.3)
    assert taken_up(now, piloted, asked).word("policy") == "autopilot"
    assert taken_up(now, of_before, asked).word("policy") == "thresholds"
    assert taken_up(now, of_before, frozenset({"policy"})).word("policy") == "autopilot"
    anew = KnobSettings.defaults(specs, {"mu": 0.2, "policy": "thresholds"})
    for name in ("mu", "asc.S/mu"):
        found = taken_up(anew, piloted, frozenset({name}))
        assert (found.word("policy"), found.number("mu")) == ("thresholds", 0.2)
    found = taken_up(anew, piloted, frozenset({"asc.T/mu"}))
    assert (found.word("policy"), found.number("mu")) == ("autopilot", 0.3)
