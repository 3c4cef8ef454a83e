"""Knobs of several scopes that only make sense together."""

from __future__ import annotations

import pytest

from backend.engine.settings import ScopedSettings
from backend.model.knobs import KnobRefused, KnobSettings
from backend.systems.cals.knobs import CalsKnobs


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
