"""The eddy of AMRI in a plan: a join whose elements take routes of their own past states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from backend.cql.nodes import At, Compare, Node
from backend.cql.types import each_of, family
from backend.model.schema import Attribute
from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.work import Operators, PlannedOperator
from backend.operators.network.kinds.equalities import held_alike
from backend.operators.network.kinds.joins import MOST_CLASSES, Classes, JoinOp
from backend.operators.network.kinds.pipelines import ProbedJoin

#: Input and place.
Column: TypeAlias = tuple[int, int]

#: Join attributes of a state, at most: access patterns are counted exactly, 2^N of them.
MOST_ATTRIBUTES: Final = 8
#: Conditions by order that an eddy knows by the bits of a word.
MOST_CONDITIONS: Final = 62


@dataclass(frozen=True, slots=True)
class EddyOp(JoinOp):
    """eddy: the combinations of all inputs, each state with access methods of its own. orders: of
    each input the route in force."""

    def named(self, n_inputs: int) -> str:
        return "eddy"

    def _probed(
        self, planned: PlannedOperator, port: int, operators: Operators, columns: tuple[int, ...]
    ) -> list[str]:
        return []  # its access methods come and go with its tuning


class OrderCondition(NamedTuple):
    """Between classes: the value of low is below that of high, or equal to it where ``is_strict``
    is not."""

    low: int
    high: int
    is_strict: bool


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """By what elements of an eddy search its states (A1). equal: its classes of equal attributes,
    then each attribute that is compared by order alone as a class of its own; conditions: by order,
    between these; orders: see ``JoinOp``."""

    equal: Classes
    conditions: tuple[OrderCondition, ...] = ()
    orders: tuple[tuple[int, ...], ...] = ()

    def ordered(self, port: int) -> tuple[int, ...]:
        """The join attributes of an input that are compared by order with those of others, by place
        among all."""
        by_order = {
            own
            for low, high, _ in self.conditions
            for own, other in ((low, high), (high, low))
            if any(i != port for i, _ in self.equal[other])
        }
        return tuple(k for k, group in enumerate(join_attributes(self, port)) if group in by_order)

    def hashed(self, port: int) -> int:
        """The join attributes of an input that are equal to those of others, as a pattern."""
        several = sum(1 << k for k, members in enumerate(self.equal) if len(members) > 1)
        return requested_pattern(join_attributes(self, port), several)

    def bounded(self, known: int) -> int:
        """The classes that are compared by order with one that has a value. known: those that have,
        as bits."""
        bounded = 0
        for low, high, _ in self.conditions:
            bounded |= (known >> low & 1) << high | (known >> high & 1) << low
        return bounded

    def asked(self, known: int, with_target: int, is_first: bool) -> int:
        """The conditions that can be looked at when a state is joined, as bits: those of which
        values come with it; at the first step those on the origin, too."""
        asked = 0
        for k, (low, high, _) in enumerate(self.conditions):
            ends = 1 << low | 1 << high
            if ends & with_target == ends and (is_first or ends & known != ends):
                asked |= 1 << k
        return asked

    def ranges(self, attributes: Sequence[int], known: int, asked: int) -> list[int]:
        """Of each join attribute of an input the conditions, of those that are asked, that a
        composite without its value compares it by. known: the classes that have a value."""
        return [
            sum(
                1 << k
                for k, (low, high, _) in enumerate(self.conditions)
                for other in [high if low == own else low]
                if asked >> k & 1 and own in (low, high) and known >> other & 1
            )
            * (not known >> own & 1)
            for own in attributes
        ]


def join_attributes(terms: ProbedJoin, port: int) -> tuple[int, ...]:
    """JAS of an input: the classes of its join attributes, in the order of its columns (A1)."""
    own = [
        (place, group)
        for group, members in enumerate(terms.equal)
        for i, place in members
        if i == port
    ]
    return tuple(group for _, group in sorted(own))


def search_terms(work: JoinOp, fields: Sequence[Sequence[Attribute]]) -> SearchTerms:
    """The classes of an eddy and, of its residual, the conditions by order between attributes of
    two inputs: a combination that breaks one goes no further. fields: of the inputs.

    Left to the end are those of strings, which are held as numbers without order, of attributes
    that are held in two ways, and what an eddy cannot know by the bits of a word or would give an
    input more than ``MOST_ATTRIBUTES`` join attributes."""
    owners = [(port, place) for port, of in enumerate(fields) for place in range(len(of))]
    terms = SearchTerms(work.equal, orders=work.orders)
    for node in () if work.residual is None else each_of(work.residual):
        ends = _by_order(node, owners)
        longer = None if ends is None else _with(terms, *ends)
        if longer is not None and _is_searchable(longer, fields):
            terms = longer
    return terms


def _with(terms: SearchTerms, low: Column, high: Column, is_strict: bool) -> SearchTerms:
    """One condition more."""
    new = [(end,) for end in (low, high) if not any(end in members for members in terms.equal)]
    classes = (*terms.equal, *new)
    places = [next(k for k, of in enumerate(classes) if end in of) for end in (low, high)]
    condition = OrderCondition(places[0], places[1], is_strict)
    return SearchTerms(classes, (*terms.conditions, condition), terms.orders)


def _is_searchable(terms: SearchTerms, fields: Sequence[Sequence[Attribute]]) -> bool:
    """Whether an eddy can search by the last condition, too."""
    low, high, _ = terms.conditions[-1]
    held = {dtype_of(fields[i][place].type) for k in (low, high) for i, place in terms.equal[k]}
    most = max(len(join_attributes(terms, port)) for port in range(len(fields)))
    return (
        low != high
        and len(held) == 1
        and most <= MOST_ATTRIBUTES
        and len(terms.equal) <= MOST_CLASSES
        and len(terms.conditions) <= MOST_CONDITIONS
    )


def _by_order(node: Node, owners: Sequence[Column]) -> tuple[Column, Column, bool] | None:
    """Of a condition by order of attributes of two inputs the lower one, the higher one, and
    whether these may not be equal; None: it is another."""
    if not isinstance(node, Compare) or node.op not in ("<", "<=", ">", ">="):
        return None
    left, right = node.left, node.right
    if not isinstance(left, At) or not isinstance(right, At):
        return None
    if not held_alike(left, right) or family(left.type) == "string":
        return None
    low, high = owners[left.index], owners[right.index]
    if node.op.startswith(">"):
        low, high = high, low
    return None if low[0] == high[0] else (low, high, "=" not in node.op)


def requested_pattern(attributes: Sequence[int], known: int) -> int:
    """The access pattern of a request when some classes have values: a bit an attribute, the first
    one the most significant. known: these classes, as bits."""
    pattern = 0
    for group in attributes:
        pattern = pattern << 1 | (known >> group & 1)
    return pattern
