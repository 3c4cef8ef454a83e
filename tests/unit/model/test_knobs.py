"""Knobs are declared once: a field is name, type, default, range, unit and help."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from backend.model.knobs import KnobRefused, Knobs, KnobSettings, knob


@dataclass(frozen=True, slots=True)
class Four(Knobs):
    """One knob of each kind."""

    share: float = knob(0.5, low=0, high=1, unit="prob", help="A share.")
    size: int = knob(10, low=1, high=100, scale="log", help="A size.")
    way: str = knob("near", choices=("near", "far"), entity="profile", help="A way.")
    on: bool = knob(True, help="A switch.")


SETTINGS = KnobSettings.defaults(Four.specs())


def test_a_field_is_a_spec() -> None:
    share, size, way, on = Four.specs()
    assert [s.kind for s in Four.specs()] == ["float", "int", "choice", "bool"]
    assert (share.name, share.default, share.unit, share.scale) == ("share", 0.5, "prob", "linear")
    assert (size.low, size.high, size.scale) == (1, 100, "log")
    assert (way.choices, way.entity) == (("near", "far"), "profile")
    assert (on.default, on.help) == (True, "A switch.")


def test_values_in_force_are_typed_and_carry_the_version() -> None:
    assert Four.of(SETTINGS) == Four()
    turned = SETTINGS.changed("size", "20").changed("way", "far")
    found = Four.of(turned)
    assert (found.size, found.way, found.share, found.version) == (20, "far", 0.5, 2)
    assert Four().version == 0


@pytest.mark.parametrize(
    ("name", "value"), [("share", 1.1), ("size", 2.5), ("size", 0), ("way", "up"), ("on", "maybe")]
)
def test_what_is_not_allowed_is_refused_with_what_is(name: str, value: object) -> None:
    with pytest.raises(KnobRefused, match=f"{name} = {value} refused: allowed"):
        SETTINGS.changed(name, value)


def test_knobs_of_others_are_left_alone() -> None:
    more = KnobSettings.defaults((*Four.specs(), *_Other.specs()))
    assert Four.of(more) == Four()


@dataclass(frozen=True, slots=True)
class _Other(Knobs):
    rate: float = knob(1.0, low=0, high=2, help="A rate.")
