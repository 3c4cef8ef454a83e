"""Stream schemas: named, typed attributes, as in ``schema = "a int, b string"``."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final

INTEGER_TYPES: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOAT_TYPES: Final = frozenset({"float", "double"})
ORDERED_TYPES: Final = (
    INTEGER_TYPES | FLOAT_TYPES | frozenset({"string", "boolean", "date", "timestamp"})
)
ALIASES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "bool": "boolean",
    "str": "string",
}
#: Types of other systems, and which of ours holds most of their values.
_NEAREST: Final = {
    **dict.fromkeys(("decimal", "dec", "numeric", "number"), "double"),
    **dict.fromkeys(("varchar", "char", "character", "text", "uuid"), "string"),
    **dict.fromkeys(("datetime", "timestamp_ntz", "timestamp_ltz", "timestamptz"), "timestamp"),
    **dict.fromkeys(("int64", "uint32", "unsigned"), "bigint"),
    **dict.fromkeys(("int32", "uint16"), "int"),
    "float64": "double",
}
#: A combining mark belongs to the letter before it.
_NAME = r"[^\W\d][\w\u0300-\u036f]*"
_ATTRIBUTE = re.compile(
    rf"^\s*(?:`((?:[^`]|``)+)`|({_NAME}))\s*(?::\s*|\s)([A-Za-z]\w*)\s*(\?)?\s*([(<\[].*)?$",
    re.DOTALL,
)
_QUOTED = re.compile(r"`(?:[^`]|``)*`")
_MARKS = re.compile(r"[,()<>]")


class SchemaError(ValueError):
    """A schema text that cannot be read; the message says which attribute and what is allowed."""


def folded(name: str) -> str:
    """A name as it is compared with others: without regard to case, and to whether an accent is a
    character of its own."""
    return unicodedata.normalize("NFC", name).lower()


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its name as written and its Spark SQL type, lower case. optional: files may
    lack it, NULL then."""

    name: str
    type: str
    optional: bool = field(default=False, compare=False, repr=False)

    @property
    def is_numeric(self) -> bool:
        return self.type in INTEGER_TYPES or self.type in FLOAT_TYPES


@dataclass(frozen=True, slots=True)
class ValidTimes:
    """When the tuples of a stream are valid. [AL11], card B1

    start, end: attributes; is_closed: ``end`` is the last instant a tuple is valid in. Or key: each
    tuple is a reading that holds until the key's next one, from its timestamp ``start`` on, ''
    where that is its arrival number. type: of valid times, date, timestamp or bigint.
    """

    start: str
    end: str = ""
    is_closed: bool = False
    key: str = ""
    type: str = "timestamp"


@dataclass(frozen=True, slots=True)
class Schema:
    """An ordered set of attributes; names are unique without regard to case.

    key: of attributes that no two tuples have alike, (): none is known. valid: when its tuples are
    valid, None: nothing says.
    """

    attributes: tuple[Attribute, ...]
    key: tuple[str, ...] = ()
    valid: ValidTimes | None = None

    @classmethod
    def parse(cls, text: str) -> Schema:
        """Read ``"a int, `b (C)` double?"``, a question mark behind the type of what files may
        lack. Raises SchemaError on unknown types, repeats, no text."""
        attributes: list[Attribute] = []
        seen: set[str] = set()
        for position, part in enumerate(_pieces(text), start=1):
            attribute = _parse_attribute(part, position)
            if folded(attribute.name) in seen:
                raise SchemaError(f"attribute {attribute.name!r} appears twice in schema {text!r}")
            seen.add(folded(attribute.name))
            attributes.append(attribute)
        return cls(tuple(attributes))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    def find(self, name: str) -> Attribute | None:
        """The attribute called ``name``, without regard to case."""
        wanted = folded(name)
        return next((a for a in self.attributes if folded(a.name) == wanted), None)

    def ddl(self) -> str:
        """The schema as Spark DDL, names quoted."""
        return ", ".join(f"`{a.name.replace('`', '``')}` {a.type}" for a in self.attributes)


def _pieces(text: str) -> list[str]:
    """What stands between commas; those in brackets belong to a type, in backquotes to a name."""
    ends, after_round, after_angle = [len(text)], "", ""
    plain = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)
    for mark in reversed(list(_MARKS.finditer(plain))):
        if mark[0] in "()":
            after_round = mark[0]
        elif mark[0] in "<>":
            after_angle = mark[0]
        elif after_round != ")" and after_angle != ">":
            ends.append(mark.start())
    ends.reverse()
    return [text[start:end] for start, end in zip([0, *(e + 1 for e in ends)], ends, strict=False)]


def _parse_attribute(part: str, position: int) -> Attribute:
    match = _ATTRIBUTE.match(part)
    if match is None:
        raise SchemaError(
            f"attribute {position} of the schema reads {part.strip()!r}; expected 'name type',"
            " the name of letters, digits and _, or any in `backquotes`"
        )
    name = unicodedata.normalize("NFC", match[2] or match[1].replace("``", "`"))
    if not name.isprintable() or not name.strip():
        raise SchemaError(f"attribute {position} of the schema has a name that cannot be printed")
    written, details = match[3].lower(), match[5] or ""
    type_name = ALIASES.get(written, written)
    if type_name not in ORDERED_TYPES or details:
        allowed = ", ".join(sorted(ORDERED_TYPES))
        near = type_name if type_name in ORDERED_TYPES else _NEAREST.get(written)
        hint = f"; {near!r} is the nearest" if near else ""
        shown = f"{written}{details.strip()}"
        raise SchemaError(
            f"attribute {name!r} has unknown type {shown!r}; allowed: {allowed}{hint}"
        )
    return Attribute(name, type_name, match[4] is not None)
