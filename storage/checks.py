"""Checks of records before they are written."""

from __future__ import annotations

from storage.errors import BadRecord
from storage.vocabulary.properties import PROPERTIES, Property


def check_sample(name: str, unit: str, entity: str, kind: str | None) -> Property:
    """The property called ``name``; unit '' and kind None are not checked. Raises BadRecord."""
    known = PROPERTIES.get(name)
    if known is None:
        raise BadRecord(
            f"sample of {entity}: unknown property {name!r}; known are {', '.join(PROPERTIES)} "
            "(a new one gets a row in storage.vocabulary.properties and docs/introspection.md)"
        )
    if unit and unit != known.unit:
        raise BadRecord(f"sample {name} of {entity} is in {unit!r}; its unit is {known.unit!r}")
    if kind is not None and kind not in known.kinds:
        raise BadRecord(
            f"sample {name} of {entity}, a {kind}; only {', '.join(known.kinds)} entities have it"
        )
    return known
