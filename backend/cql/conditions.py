"""Conditions of a CQL text: names looked up, constants typed, negation moved into comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

from lark import Token

from backend.cql.constants import ConstantError, constant_for
from backend.cql.errors import CqlError, did_you_mean, listed
from backend.cql.nodes import (
    Between,
    Call,
    Compare,
    Constant,
    InRelation,
    IsNull,
    Logic,
    Member,
    Name,
    Node,
    Not,
    Source,
    Unsupported,
)
from backend.cql.syntax import COMPARISON_WORDS
from backend.model.conditions import TRUE, And, Comparison, Condition, NullTest, Op, Or
from backend.model.functions import Function, Functions
from backend.model.schema import Attribute, Schema

#: The empty disjunction: false for every tuple.
FALSE: Final = Or(())
_NEGATION: Final[dict[str, Op]] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_MIRROR: Final[dict[str, Op]] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    ">=": "<=",
    ">": "<",
    "<=": ">=",
}
_ADVICE: Final = "this system runs selections: Select * From Stream Where condition"


def refuse(message: str, at: Token, text: str) -> NoReturn:
    raise CqlError(message, at.line or 1, at.column or 1, text, len(at))


def refuse_unsupported(problem: Unsupported, text: str) -> NoReturn:
    refuse(f"{problem.what} is not run by this system yet; {_ADVICE}", problem.at, text)


def find_stream(source: Source, streams: Mapping[str, Schema], text: str) -> str:
    wanted = ".".join(source.name.parts)
    for name in streams:
        if name.lower() == wanted.lower():
            return name
    known = f"; the streams are {listed(sorted(streams), 'and')}" if streams else ""
    refuse(
        f"unknown stream {wanted!r}{did_you_mean(wanted, streams) or known}", source.name.at, text
    )


class ConditionBuilder:
    """Builds the condition of one query; ``qualifiers`` are the stream's names, lower case.

    functions: those a query may call, which is not in the conditions built here.
    """

    def __init__(
        self,
        schema: Schema,
        stream: str,
        qualifiers: set[str],
        text: str,
        functions: Functions | None = None,
    ) -> None:
        self.schema, self.stream, self.qualifiers, self.text = schema, stream, qualifiers, text
        self.functions = functions or Functions()

    def build(self, node: Node, negate: bool = False) -> Condition:
        """The condition of ``node``, or of NOT ``node``. Raises CqlError."""
        if isinstance(node, Not):
            return self.build(node.part, not negate)
        if isinstance(node, Logic):
            return self._logic(node, negate)
        if isinstance(node, Compare):
            return self._compare(node, negate)
        if isinstance(node, Member):
            return self._member(node, negate)
        if isinstance(node, Between):
            return self._between(node, negate)
        if isinstance(node, IsNull):
            attribute = self.attribute(node.subject, "IS NULL")
            return NullTest(attribute.name, node.negated != negate)
        return self._bare(node, negate)

    def _logic(self, node: Logic, negate: bool) -> Condition:
        kind = And if (node.word == "and") != negate else Or
        parts = (self.build(part, negate) for part in node.parts)
        flat = tuple(_flattened(parts, kind))
        return flat[0] if len(flat) == 1 else kind(flat)

    def _compare(self, node: Compare, negate: bool) -> Condition:
        op: Op = _NEGATION[_NEGATION[node.op]]
        subject, constant = node.left, node.right
        if isinstance(subject, Constant):
            subject, constant, op = constant, subject, _MIRROR[op]
        attribute = self.attribute(subject, op)
        return self._comparison(attribute, _NEGATION[op] if negate else op, constant)

    def _member(self, node: Member, negate: bool) -> Condition:
        attribute = self.attribute(node.subject, "IN")
        excluded = node.negated != negate
        op: Op = "<>" if excluded else "="
        parts = tuple(dict.fromkeys(self._comparison(attribute, op, i) for i in node.items))
        if len(parts) == 1:
            return parts[0]
        return And(parts) if excluded else Or(parts)

    def _between(self, node: Between, negate: bool) -> Condition:
        attribute = self.attribute(node.subject, "BETWEEN")
        if node.negated != negate:
            low = self._comparison(attribute, "<", node.low)
            return Or((low, self._comparison(attribute, ">", node.high)))
        low = self._comparison(attribute, ">=", node.low)
        return And((low, self._comparison(attribute, "<=", node.high)))

    def _bare(self, node: Node, negate: bool) -> Condition:
        self._refuse_elsewhere(node)
        if isinstance(node, Constant) and node.kind == "boolean":
            return TRUE if (node.text == "true") != negate else FALSE
        if isinstance(node, Name):
            attribute = self.attribute(node, "")
            if attribute.type == "boolean":
                return Comparison(attribute.name, "<>" if negate else "=", True)
        refuse(
            f"{str(node.at)!r} alone is no condition; expected {COMPARISON_WORDS}",
            node.at,
            self.text,
        )

    def attribute(self, node: Node, use: str) -> Attribute:
        """The attribute a name stands for; use: what it is beside. Raises CqlError."""
        self._refuse_elsewhere(node)
        if isinstance(node, Constant):
            refuse("both sides are constants; one side must be an attribute", node.at, self.text)
        if not isinstance(node, Name):
            refuse(f"found a condition beside {use}, expected an attribute", node.at, self.text)
        *qualifier, name = node.parts
        if qualifier and ".".join(qualifier).lower() not in self.qualifiers:
            wrong = ".".join(qualifier)
            refuse(f"unknown stream {wrong!r}; this query reads {self.stream}", node.at, self.text)
        attribute = self.schema.find(name)
        if attribute is None:
            hint = did_you_mean(name, self.schema.names) or (
                f"; {self.stream} has {listed(self.schema.names, 'and')}"
            )
            refuse(f"unknown attribute {name!r}{hint}", node.at, self.text)
        return attribute

    def find_function(self, node: Call) -> Function:
        """The function a call names. Raises CqlError."""
        if not self.functions.functions:
            refuse_unsupported(Unsupported(node.at, f"the function {node.name}(…)"), self.text)
        found = self.functions.find(node.name)
        if found is None:
            known = self.functions.functions
            hint = did_you_mean(node.name, known) or f"; registered are {listed(known, 'and')}"
            refuse(f"unknown function {node.name!r}{hint}", node.at, self.text)
        return found

    def _refuse_elsewhere(self, node: Node) -> None:
        """What may stand at other places only."""
        if isinstance(node, Unsupported):
            refuse_unsupported(node, self.text)
        if isinstance(node, Call):
            name = self.find_function(node).name
            message = f"{name}(…) is a condition of its own, joined to others by 'and' only"
            refuse(message, node.at, self.text)
        if isinstance(node, InRelation):
            message = "membership in a window is joined to other conditions by 'and' only"
            refuse(message, node.at, self.text)

    def _refuse_bare_word(self, node: Name, attribute: Attribute) -> None:
        word = node.parts[-1]
        if len(node.parts) == 1 and attribute.type == "string" and not self.schema.find(word):
            message = f"unknown attribute {word!r}; a string is written in single quotes: '{word}'"
            refuse(message, node.at, self.text)

    def _comparison(self, attribute: Attribute, op: Op, node: Node) -> Comparison:
        self._refuse_elsewhere(node)
        if isinstance(node, Name):
            self._refuse_bare_word(node, attribute)
            other = self.attribute(node, op)
            what = f"comparing two attributes ({attribute.name} and {other.name})"
            refuse(
                f"{what} is not run by this system yet; compare with a constant", node.at, self.text
            )
        if not isinstance(node, Constant):
            refuse(f"found a condition beside {op}, expected a constant", node.at, self.text)
        try:
            return Comparison(attribute.name, op, constant_for(node, attribute))
        except ConstantError as error:
            refuse(str(error), node.at, self.text)


def _flattened(parts: Iterator[Condition], kind: type[And] | type[Or]) -> Iterator[Condition]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part
