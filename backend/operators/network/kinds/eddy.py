"""The eddy of AMRI in a plan: a join whose elements take routes of their own past states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from backend.cql.nodes import At, Compare, Node
from backend.cql.types import each_of, family
from backend.model.schema import Attribute
from backend.operators.network.core.work import Operators, PlannedOperator
from backend.operators.network.kinds.joins import JoinOp

#: Join attributes of a state, at most: access patterns are counted exactly, 2^N of them.
MOST_ATTRIBUTES: Final = 8
#: Of a bit-address index.
MOST_BITS: Final = 64
#: Looking a bucket of such an index up takes about as long as reading so many codes.
CODES_A_BUCKET: Final = 4
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


def join_attributes(work: JoinOp, port: int) -> tuple[int, ...]:
    """JAS of an input: the classes of its join attributes, in the order of its columns (A1)."""
    own = [
        (place, group)
        for group, members in enumerate(work.equal)
        for i, place in members
        if i == port
    ]
    return tuple(group for _, group in sorted(own))


class OrderCondition(NamedTuple):
    """low is below high, or equal to it where ``is_strict`` is not; both as (input, place)."""

    low: tuple[int, int]
    high: tuple[int, int]
    is_strict: bool

    def asked_at(self, target: int, composite: Iterable[int]) -> bool:
        """Whether a composite that is joined with one more input can be asked then first."""
        inputs = {self.low[0], self.high[0]}
        return target in inputs and inputs <= {target, *composite}


def order_conditions(
    work: EddyOp, fields: Sequence[Sequence[Attribute]]
) -> tuple[OrderCondition, ...]:
    """Of the residual the conditions by order between attributes of two inputs: a combination that
    breaks one goes no further. fields: of the inputs. Those of attributes that are not of one type,
    and of strings, which are held as numbers without order, are left to the end."""
    owners = [(port, place) for port, of in enumerate(fields) for place in range(len(of))]
    nodes = () if work.residual is None else each_of(work.residual)
    made = [one for one in (_by_order(node, owners) for node in nodes) if one is not None]
    return tuple(one for one in made if one.low[0] != one.high[0])[:MOST_CONDITIONS]


def _by_order(node: Node, owners: Sequence[tuple[int, int]]) -> OrderCondition | None:
    """A condition by order of attributes of one type; None: it is another."""
    if not isinstance(node, Compare) or node.op not in ("<", "<=", ">", ">="):
        return None
    left, right = node.left, node.right
    if not isinstance(left, At) or not isinstance(right, At):
        return None
    if left.type != right.type or family(left.type) == "string":
        return None
    low, high = owners[left.index], owners[right.index]
    if node.op.startswith(">"):
        low, high = high, low
    return OrderCondition(low, high, "=" not in node.op)


def requested_pattern(attributes: Sequence[int], known: int) -> int:
    """The access pattern of a request when some classes have values: a bit an attribute, the first
    one the most significant. known: these classes, as bits."""
    pattern = 0
    for group in attributes:
        pattern = pattern << 1 | (known >> group & 1)
    return pattern


def even_split(n_attributes: int, n_bits: int) -> tuple[int, ...]:
    """As many bits for each attribute, one more for the first ones where some are left over."""
    return tuple((n_bits + n_attributes - 1 - a) // n_attributes for a in range(n_attributes))


def module_for(pattern: int, modules: Iterable[int]) -> int | None:
    """The hash index that answers a request: of those all of whose attributes it specifies one
    with most attributes, of equal ones the larger mask; None: a scan (card A2b)."""
    fitting = [m for m in modules if m and m & pattern == m]
    return max(fitting, key=lambda m: (m.bit_count(), m), default=None)
