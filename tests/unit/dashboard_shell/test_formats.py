"""Numbers with their units, as texts write them."""

from __future__ import annotations

from dashboard.components.formats import amount


def test_sums_of_microseconds_are_in_the_largest_unit_that_fits() -> None:
    assert [amount(us, "us") for us in (12.5, 999, 98_800, -276_000, 3_410_000)] == [
        "12.5 µs", "999 µs", "98.8 ms", "-276 ms", "3.4 s"
    ]  # fmt: skip
    assert [amount(n, "visits") for n in (12.0, 98_800)] == ["12 visits", "98.8k visits"]
