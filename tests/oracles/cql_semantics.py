"""What a logical plan of CQL means, by the definitions of the abstract semantics alone.

A stream is a list of (row, timestamp); a relation is the bag of rows at one instant, a list. Every
instant is computed anew from all that came before; nothing is kept but what was found already
(Babu's thesis, section 2.1). The order of a stream that is read is its own; others are sorted,
those of queries as plain as Select * as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from itertools import product
from typing import Any

from backend.cql import logical, nodes
from backend.cql.answers import Implicit, answers_a_stream
from backend.cql.logical import Logical
from backend.cql.types import type_of
from tests.oracles.cql_expressions import member, value_of, widened
from tests.oracles.cql_reference import invert

Row = tuple[Any, ...]
Elements = list[tuple[Row, int]]
#: Streams, and stored relations: these are there from the first instant.
Inputs = Mapping[str, Elements]
Known = dict[Any, Any]


def relation_at(plan: Logical, inputs: Inputs, now: int) -> list[Row]:
    """The bag of a plan at one instant; a stream counts as everything it has had."""
    return Meaning(inputs).relation(plan, now)


def stream_until(plan: Logical, inputs: Inputs, now: int) -> Elements:
    """The elements of a stream up to an instant; a relation is read as the stream of what comes."""
    return Meaning(inputs).stream(plan, now)


def answer(
    plan: Logical, inputs: Inputs, last: int, implicit: Implicit = "unwindowed", begin: int = 0
) -> Counter[tuple[Row, int, int]]:
    """The elements (row, τ, sign) of a query's answer up to an instant: of a stream those it has,
    of a relation what comes and goes."""
    meaning = Meaning(inputs, begin)
    if answers_a_stream(plan, implicit):
        return Counter((row, time, 1) for row, time in meaning.stream(plan, last))
    found: Counter[tuple[Row, int, int]] = Counter()
    before: Counter[Row] = Counter()
    for time in range(begin, last + 1):
        bag = Counter(meaning.relation(plan, time))
        found.update((row, time, 1) for row in (bag - before).elements())
        found.update((row, time, -1) for row in (before - bag).elements())
        before = bag
    return found


class Meaning:
    """What plans mean over some inputs. begin: the first instant there is."""

    def __init__(self, inputs: Inputs, begin: int = 0) -> None:
        self._inputs, self._begin = inputs, begin
        self._found: dict[tuple[str, int, int], Any] = {}

    def relation(self, plan: Logical, now: int) -> list[Row]:
        """As relation_at."""
        key = "relation", id(plan), now
        if key not in self._found:
            self._found[key] = self._relation(plan, now)
        found: list[Row] = self._found[key]
        return found

    def stream(self, plan: Logical, now: int) -> Elements:
        """As stream_until."""
        key = "stream", id(plan), now
        if key not in self._found:
            self._found[key] = self._stream(plan, now)
        found: Elements = self._found[key]
        return found

    def _relation(self, plan: Logical, now: int) -> list[Row]:
        match plan:
            case logical.Scan() if plan.plan is not None:
                return self.relation(plan.plan, now)
            case logical.Scan() | logical.ToStream():
                return [row for row, _ in self.stream(plan, now)]
            case logical.Derived():
                return self.relation(plan.input, now)
            case logical.Window():
                return _window(plan, self.stream(plan.input, now), now)
            case logical.WithValidTimes():
                return self._readings(plan, now) if plan.valid.key else self._given(plan, now)
            case logical.Coalesce():
                return self._coalesced(plan, now)
            case logical.Join():
                parts = [self.relation(part, now) for part in plan.inputs]
                rows = [sum(combined, ()) for combined in product(*parts)]
                if plan.condition is None:
                    return rows
                return [row for row in rows if self._holds(plan.condition, plan, row, now)]
            case logical.Select():
                rows = self.relation(plan.input, now)
                return [row for row in rows if self._holds(plan.condition, plan.input, row, now)]
            case logical.Project():
                values = [output.expression for output in plan.outputs]
                return [
                    tuple(self._value(value, known, now) for value in values)
                    for known in self._known_rows(plan.input, now)
                ]
            case logical.Distinct():
                return list(dict.fromkeys(self.relation(plan.input, now)))
            case logical.SetOperation():
                types = [field.type for field in plan.fields]
                left, right = (
                    Counter(tuple(map(widened, row, types)) for row in self.relation(side, now))
                    for side in (plan.left, plan.right)
                )
                both = {"Union": left + right, "Except": left - right, "Intersect": left & right}
                return list(both[plan.word].elements())
        raise AssertionError(plan)

    def _stream(self, plan: Logical, now: int) -> Elements:
        if isinstance(plan, logical.Scan) and plan.plan is None:
            if plan.kind == "relation":
                return [(row, self._begin) for row, _ in self._inputs[plan.name]]
            rows = sorted(self._inputs[plan.name], key=lambda element: element[1])
            return [(row, time) for row, time in rows if time <= now]
        if isinstance(plan, logical.Scan | logical.Derived):
            query = plan.plan if isinstance(plan, logical.Scan) else plan.input
            assert query is not None
            if not (isinstance(query, logical.Scan) and query.plan is None):
                return self.stream(query, now)
        bags = plan.input if isinstance(plan, logical.ToStream) else plan
        word = plan.word if isinstance(plan, logical.ToStream) else "Istream"
        found: Elements = []
        before: Counter[Row] = Counter()
        for time in range(self._begin, now + 1):
            bag = Counter(self.relation(bags, time))
            news = {"Istream": bag - before, "Dstream": before - bag, "Rstream": bag}[word]
            found += [(row, time) for row in sorted(news.elements(), key=_in_order)]
            before = bag
        return found

    # ------------------------------------------------------------------ valid times

    def _given(self, plan: logical.WithValidTimes, now: int) -> list[Row]:
        names = [field.name for field in plan.input.fields]
        ends = [names.index(name) for name in (plan.valid.start, plan.valid.end)]
        rows = self.relation(plan.input, now)
        return [(*row, *(row[place] for place in ends)) for row in rows]

    def _readings(self, plan: logical.WithValidTimes, now: int) -> list[Row]:
        """The tuples of a window, each valid until the next one of its key, as last looked at."""
        window = plan.input if isinstance(plan.input, logical.Window) else None
        kind = None if window is None else window.kind
        slide = kind.slide if isinstance(kind, logical.Range) else None
        at = now if slide is None else now - now % slide
        elements = self.stream(plan.input if window is None else window.input, now)
        place = [field.name for field in plan.input.fields].index(plan.valid.key)
        dated: Elements = []
        for n, (row, time) in enumerate(elements):
            later = (t for r, t in elements[n + 1 :] if r[place] == row[place] and t <= at)
            dated.append(((*row, time, next(later, at + 1)), time))
        rows = [row for row, _ in dated] if window is None else _window(window, dated, now)
        return [row for row in rows if row[-2] < row[-1]]

    def _coalesced(self, plan: logical.Coalesce, now: int) -> list[Row]:
        names = [field.name for field in plan.input.fields[:-2]]
        places = [names.index(name) for name in plan.attributes]
        groups: dict[Row, set[int]] = {}
        for row in self.relation(plan.input, now):
            if None not in row[-2:]:
                start, end = map(_instant, row[-2:])
                instants = range(start, end + plan.valid.is_closed)
                groups.setdefault(tuple(row[place] for place in places), set()).update(instants)
        back = date.fromordinal if plan.valid.type == "date" else int
        return [
            (*values, back(start), back(end))
            for values, instants in groups.items()
            for start, end in _maximal(instants)
        ]

    # ------------------------------------------------------------------ expressions

    def _known_rows(self, plan: Logical, now: int) -> Iterable[Known]:
        """What the expressions above a plan can name, row by row: attributes, groups, calls."""
        if not isinstance(plan, logical.Aggregate):
            return [_known(plan, row) for row in self.relation(plan, now)]
        groups: dict[Row, list[Known]] = {} if plan.groups else {(): []}
        for row in self.relation(plan.input, now):
            inside = _known(plan.input, row)
            key = tuple(self._value(group, inside, now) for group in plan.groups)
            groups.setdefault(key, []).append(inside)
        found = []
        for key, members in groups.items():
            known: Known = dict(zip(plan.groups, key, strict=True))
            known |= {call: self._aggregate(call, members, now) for call in plan.calls}
            found.append(known)
        if plan.having is None:
            return found
        return [known for known in found if self._value(plan.having, known, now) is True]

    def _aggregate(self, call: nodes.Aggregated, members: list[Known], now: int) -> Any:
        if not call.arguments:
            return len(members)
        values = [self._value(call.arguments[0], known, now) for known in members]
        values = [value for value in values if value is not None]
        values = list(dict.fromkeys(values)) if call.distinct else values
        if call.function == "count":
            return len(values)
        if not values:
            return None
        total: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "min": min, "max": max}
        if call.function == "avg":
            return sum(values) / len(values)
        found = total[call.function](values)
        return float(found) if type_of(call) == "double" else found

    def _holds(self, node: nodes.Node, plan: Logical, row: Row, now: int) -> bool:
        return self._value(node, _known(plan, row), now) is True

    def _value(self, node: nodes.Node, known: Known, now: int) -> Any:
        def lookup(part: nodes.Node) -> Any:
            if part in known:
                return known[part]
            if isinstance(part, nodes.ColumnReference):
                return known[part.source, part.name]
            if isinstance(part, nodes.InRelation):
                rows = self.relation(part.relation, now)
                found = member(self._value(part.subject, known, now), [row[0] for row in rows])
                return invert(found) if part.negated else found
            raise KeyError(part)

        return value_of(node, lookup)


def _instant(value: Any) -> int:
    return value.toordinal() if isinstance(value, date) else int(value)


def _maximal(instants: set[int]) -> list[tuple[int, int]]:
    """Half-open intervals without a gap that are these instants."""
    starts = sorted(one for one in instants if one - 1 not in instants)
    ends = sorted(one + 1 for one in instants if one + 1 not in instants)
    return list(zip(starts, ends, strict=True))


def _in_order(row: Row) -> tuple[tuple[bool, Any], ...]:
    """NULL first, then by value."""
    return tuple((value is not None, value) for value in row)


def _window(plan: logical.Window, newest: Elements, now: int) -> list[Row]:
    kind = plan.kind
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
    """The values of the attributes that have a name of their own."""
    labels = _labels(plan)
    pairs = zip(labels, row, strict=True)
    return {label: value for label, value in pairs if labels.count(label) == 1}
