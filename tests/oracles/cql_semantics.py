"""What a logical plan of CQL means, by the definitions of the abstract semantics alone.

A stream is a list of (row, timestamp); a relation is the bag of rows at one instant, a list. Every
instant is computed anew from all that came before; nothing is kept (Babu's thesis, section 2.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from backend.cql import logical, nodes
from backend.cql.logical import Logical
from tests.oracles.cql_reference import compare, conjunction, disjunction, invert

Row = tuple[Any, ...]
Elements = list[tuple[Row, int]]
Inputs = Mapping[str, Elements]


def relation_at(plan: Logical, inputs: Inputs, now: int) -> list[Row]:
    """The bag of a plan at one instant; a stream counts as everything it has had."""
    match plan:
        case logical.Scan() | logical.ToStream():
            return [row for row, _ in stream_until(plan, inputs, now)]
        case logical.Derived():
            return relation_at(plan.input, inputs, now)
        case logical.Window():
            return _window(plan, stream_until(plan.input, inputs, now), now)
        case logical.Join():
            parts = [relation_at(part, inputs, now) for part in plan.inputs]
            rows = [sum(combined, ()) for combined in product(*parts)]
            if plan.condition is None:
                return rows
            return [row for row in rows if _truth(plan.condition, plan, row, inputs, now)]
        case logical.Select():
            rows = relation_at(plan.input, inputs, now)
            return [row for row in rows if _truth(plan.condition, plan.input, row, inputs, now)]
        case logical.Project():
            found = _known_rows(plan.input, inputs, now)
            values = [output.expression for output in plan.outputs]
            return [tuple(_value(v, known, inputs, now) for v in values) for known in found]
        case logical.Distinct():
            return list(dict.fromkeys(relation_at(plan.input, inputs, now)))
        case logical.SetOperation():
            left = Counter(relation_at(plan.left, inputs, now))
            right = Counter(relation_at(plan.right, inputs, now))
            both = {"Union": left + right, "Except": left - right, "Intersect": left & right}
            return list(both[plan.word].elements())
    raise AssertionError(plan)


def stream_until(plan: Logical, inputs: Inputs, now: int) -> Elements:
    """The elements of a stream up to an instant; a relation is read as the stream of what comes."""
    if isinstance(plan, logical.Scan):
        return [(row, time) for row, time in inputs[plan.name] if time <= now]
    if isinstance(plan, logical.Derived):
        return stream_until(plan.input, inputs, now)
    bags = plan.input if isinstance(plan, logical.ToStream) else plan
    word = plan.word if isinstance(plan, logical.ToStream) else "Istream"
    found: Elements = []
    before: Counter[Row] = Counter()
    for time in range(now + 1):
        bag = Counter(relation_at(bags, inputs, time))
        news = {"Istream": bag - before, "Dstream": before - bag, "Rstream": bag}[word]
        found += [(row, time) for row in news.elements()]
        before = bag
    return found


def _window(plan: logical.Window, elements: Elements, now: int) -> list[Row]:
    kind = plan.kind
    newest = sorted(elements, key=lambda element: element[1])
    if isinstance(kind, logical.Range):
        at = now if kind.slide is None else now - now % kind.slide
        return [row for row, time in newest if at - kind.seconds <= time <= at]
    if isinstance(kind, logical.Now):
        return [row for row, time in newest if time == now]
    if isinstance(kind, logical.Unbounded):
        return [row for row, _ in newest]
    names = [field.name for field in plan.fields]
    groups: dict[Row, list[Row]] = {}
    for row, _ in newest:
        key = tuple(row[names.index(name)] for name in kind.by)
        groups.setdefault(key, []).append(row)
    return [row for rows in groups.values() for row in rows[-kind.rows :]]


# ---------------------------------------------------------------------- expressions

Known = dict[Any, Any]


def _labels(plan: Logical) -> list[tuple[str, str]]:
    """How columns name each attribute of a plan: source and name."""
    if isinstance(plan, logical.Select):
        return _labels(plan.input)
    if not isinstance(plan, logical.Join):
        return [("", field.name) for field in plan.fields]
    found: list[tuple[str, str]] = []
    for part, alias in zip(plan.inputs, plan.aliases, strict=True):
        inner = isinstance(part, logical.Join)
        found += _labels(part) if inner else [(alias, field.name) for field in part.fields]
    return found


def _known(plan: Logical, row: Row) -> Known:
    """The values of the attributes, the first of a name first."""
    known: Known = {}
    for label, value in zip(_labels(plan), row, strict=True):
        known.setdefault(label, value)
    return known


def _known_rows(plan: Logical, inputs: Inputs, now: int) -> Iterable[Known]:
    """What the expressions above a plan can name, row by row: attributes, or groups and calls."""
    if not isinstance(plan, logical.Aggregate):
        return [_known(plan, row) for row in relation_at(plan, inputs, now)]
    groups: dict[Row, list[Known]] = {} if plan.groups else {(): []}
    for row in relation_at(plan.input, inputs, now):
        member = _known(plan.input, row)
        key = tuple(_value(group, member, inputs, now) for group in plan.groups)
        groups.setdefault(key, []).append(member)
    found = []
    for key, members in groups.items():
        known: Known = dict(zip(plan.groups, key, strict=True))
        known |= {call: _aggregate(call, members, inputs, now) for call in plan.calls}
        found.append(known)
    if plan.having is None:
        return found
    return [known for known in found if _value(plan.having, known, inputs, now) is True]


def _aggregate(call: nodes.Aggregated, members: list[Known], inputs: Inputs, now: int) -> Any:
    if not call.arguments:
        return len(members)
    values = [_value(call.arguments[0], known, inputs, now) for known in members]
    values = [value for value in values if value is not None]
    values = list(dict.fromkeys(values)) if call.distinct else values
    if call.function == "count":
        return len(values)
    if not values:
        return None
    total: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "min": min, "max": max}
    return sum(values) / len(values) if call.function == "avg" else total[call.function](values)


def _truth(node: nodes.Node, plan: Logical, row: Row, inputs: Inputs, now: int) -> bool:
    return _value(node, _known(plan, row), inputs, now) is True


def _value(node: nodes.Node, known: Known, inputs: Inputs, now: int) -> Any:
    if node in known:
        return known[node]

    def value(part: nodes.Node) -> Any:
        return _value(part, known, inputs, now)

    match node:
        case nodes.Column():
            return known[(node.source, node.name)]
        case nodes.Literal():
            return node.value
        case nodes.Arithmetic():
            return _arithmetic(node.op, value(node.left), value(node.right))
        case nodes.Negative():
            operand = value(node.operand)
            return None if operand is None else -operand
        case nodes.Compare():
            return compare(value(node.left), node.op, value(node.right))
        case nodes.Between():
            low = compare(value(node.subject), ">=", value(node.low))
            inside = conjunction([low, compare(value(node.subject), "<=", value(node.high))])
            return invert(inside) if node.negated else inside
        case nodes.Member():
            member = _member(value(node.subject), [value(item) for item in node.items])
            return invert(member) if node.negated else member
        case nodes.InRelation():
            rows = relation_at(node.relation, inputs, now)
            member = _member(value(node.subject), [row[0] for row in rows])
            return invert(member) if node.negated else member
        case nodes.IsNull():
            return (value(node.subject) is None) != node.negated
        case nodes.Not():
            return invert(value(node.part))
        case nodes.Logic():
            joined = conjunction if node.word == "and" else disjunction
            return joined([value(part) for part in node.parts])
    raise AssertionError(node)


def _member(subject: Any, values: list[Any]) -> bool | None:
    return disjunction([compare(subject, "=", value) for value in values])


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    return {"+": left + right, "-": left - right, "*": left * right}[op]
