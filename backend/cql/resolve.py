"""From the syntax of a CQL text to its logical plan: names looked up, types checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from lark import Token

from backend.cql import logical, nodes, statements, temporal
from backend.cql.answers import answers_a_stream
from backend.cql.expressions import Expressions
from backend.cql.printer import name_of
from backend.cql.scope import Catalog, From, Scope, refuse
from backend.cql.types import comparable, expressions_in, parts_of

Outputs: TypeAlias = tuple[logical.Output, ...]
#: The plan of sources, and what their columns are called by.
Read: TypeAlias = tuple[logical.Logical, list[From]]
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
MAX_COLUMNS: Final = 2000
_DIGITS: Final = 18
_WINDOWS: Final = (
    "[Rows n], [Range n Seconds], [Range n Seconds Slide n Seconds], [Now], [Rows Unbounded]"
    " or [Partition By a, b Rows n]"
)


class Resolver:
    """Makes plans of the statements of one text. Raises CqlError."""

    def __init__(self, catalog: Catalog, text: str) -> None:
        self._catalog, self._text = catalog, text

    def plan(self, statement: statements.Statement) -> logical.Logical:
        """The plan of a statement."""
        if isinstance(statement, statements.Selection):
            return self._selection(statement)
        if isinstance(statement, statements.Streamed):
            return logical.ToStream(statement.at, self.plan(statement.statement), statement.word)
        return self._compound(statement)

    def expressions(self, scope: Scope) -> Expressions:
        """What looks up expressions over these sources."""
        return Expressions(scope, self._catalog, self.plan)

    def _compound(self, node: statements.Compound) -> logical.SetOperation:
        left, right = self.plan(node.left), self.plan(node.right)
        if len(left.fields) != len(right.fields):
            counts = f"{len(left.fields)} and {len(right.fields)} columns"
            refuse(f"{node.word} of {counts}; both sides must have as many", node.at, self._text)
        for attribute, other in zip(left.fields, right.fields, strict=True):
            if not comparable(attribute.type, other.type):
                message = (
                    f"{node.word} of {attribute.name} ({attribute.type})"
                    f" and {other.name} ({other.type})"
                )
                refuse(f"{message}; the types must agree", node.at, self._text)
        return logical.SetOperation(node.at, node.word, left, right)

    # ------------------------------------------------------------------ one selection

    def _selection(self, node: statements.Selection) -> logical.Logical:
        where = node.clause("where")
        plan, items = self._from(node.sources)
        scope = Scope(items, self._text, _equated(node.sources, where))
        within = self.expressions(scope)
        source = temporal.coalesced_source(node.sources, self._text)
        if source is not None:
            plan, within = self._coalesced(plan, source, where, within)
            scope = within.scope
        elif where is not None:
            plan = logical.Select(where.at, plan, within.condition(where.parts[0]))
        lookup = Expressions(scope, self._catalog, self.plan, within)
        outputs, below = self._outputs(node.listed, lookup), plan
        if outputs is not None or len(node.clauses) > 1 or (node.clauses and where is None):
            plan = self._aggregate(plan, node, outputs, lookup, within)
        if source is not None and plan is not below and not temporal.uses_valid(node):
            message = "an aggregate of coalesced tuples that names no valid time"
            wanted = "count tuples without attributes behind the stream, or name Valid"
            refuse(f"{message}; {wanted}", source.at, self._text)
        if outputs is not None:
            plan = logical.Project(node.listed.items[0].at, plan, outputs)
        if node.listed.distinct is not None:
            plan = logical.Distinct(node.listed.distinct, plan)
        order = node.clause("order")
        if order is not None:
            plan = logical.OrderBy(order.at, plan, tuple(map(lookup.value, order.parts)))
        stream = node.listed.stream
        return plan if stream is None else logical.ToStream(stream, plan, _stream_word(stream))

    def _coalesced(
        self,
        plan: logical.Logical,
        source: statements.Source,
        where: statements.Clause | None,
        within: Expressions,
    ) -> tuple[logical.Logical, Expressions]:
        """The coalesced tuples of a source, and what looks up expressions over them."""
        split = temporal.split_where(None if where is None else where.parts[0], self._text)
        plan = below = temporal.dated(plan, source, self._text)
        if where is not None and split.values is not None:
            plan = logical.Select(where.at, plan, within.condition(split.values))
        plan = temporal.coalesced(plan, below, source, self._text)
        (item,) = within.scope.items
        scope = Scope([replace(item, fields=plan.fields, is_coalesced=True)], self._text)
        above = self.expressions(scope)
        if where is not None and split.valid is not None:
            plan = logical.Select(where.at, plan, above.condition(split.valid))
        return plan, above

    def _outputs(self, listed: statements.SelectList, lookup: Expressions) -> Outputs | None:
        """The columns of a select list; None for ``*`` alone."""
        scope, outputs = lookup.scope, list[logical.Output]()
        for item in listed.items:
            if isinstance(item, statements.Item) and temporal.is_valid_call(item.expression):
                outputs += temporal.listed_valid(scope, item)
                continue
            if isinstance(item, statements.Item):
                expression = lookup.value(item.expression)
                outputs.append(logical.Output(expression, item.name or name_of(expression)))
                continue
            if not item.qualifier and len(listed.items) == 1:
                return None
            sources = scope.qualified(item.qualifier, item.at) if item.qualifier else scope.items
            n_columns = len(outputs) + sum(len(source.fields) for source in sources)
            if n_columns > MAX_COLUMNS:
                refuse(f"more than {MAX_COLUMNS} columns", item.at, self._text)
            columns = scope.columns(sources, item.at)
            outputs += [logical.Output(column, column.name) for column in columns]
        return tuple(outputs)

    def _aggregate(
        self,
        plan: logical.Logical,
        node: statements.Selection,
        outputs: Outputs | None,
        lookup: Expressions,
        within: Expressions,
    ) -> logical.Logical:
        group, having = node.clause("group"), node.clause("having")
        written = () if group is None else group.parts
        for part in written:
            if isinstance(part, nodes.Constant) and part.kind == "number":
                message = f"Group By {part.text} is no place in the list; name what to group by"
                refuse(message, part.at, self._text)
        groups = tuple(map(within.value, written))
        filtered = None if having is None else lookup.condition(having.parts[0])
        above = [output.expression for output in outputs or ()]
        above += [] if filtered is None else [filtered]
        calls = [e for top in above for e in expressions_in(top) if isinstance(e, nodes.Aggregated)]
        first = group or having
        if first is None and not calls:
            return plan
        at = first.at if first is not None else calls[0].at
        if outputs is None:
            refuse("name the columns of an answer with groups, instead of *", at, self._text)
        grouped = frozenset(groups)
        for expression in above:
            self._check_grouped(expression, grouped)
        return logical.Aggregate(at, plan, groups, tuple(dict.fromkeys(calls)), filtered)

    def _check_grouped(self, node: nodes.Node, groups: frozenset[nodes.Node]) -> None:
        """Refuse an attribute above an aggregation that is neither grouped nor aggregated."""
        if node in groups or isinstance(node, nodes.Aggregated):
            return
        if isinstance(node, nodes.ColumnReference):
            message = f"{node.name!r} is neither in Group By nor within an aggregate"
            refuse(message, node.at, self._text)
        for part in parts_of(node):
            self._check_grouped(part, groups)

    # ------------------------------------------------------------------ sources

    def _from(self, sources: tuple[statements.Source | statements.JoinText, ...]) -> Read:
        reads = [self._source(source) for source in sources]
        items = [item for _, of_one in reads for item in of_one]
        if len(reads) == 1:
            return reads[0][0], items
        return self._joined(sources[1].at, reads), items

    def _joined(
        self,
        at: Token,
        reads: list[Read],
        condition: nodes.Node | None = None,
    ) -> logical.Join:
        """The join of what was read, columns called as the sources are."""
        items = [item for _, of_one in reads for item in of_one]
        counts = Counter(item.alias.lower() for item in items if item.alias)
        for item in items:
            if counts[item.alias.lower()] > 1:
                message = f"two sources are called {item.alias!r}; give one of them another name"
                refuse(message, at, self._text)
        if condition is not None:
            condition = self.expressions(Scope(items, self._text)).condition(condition)
        names = (of_one[0].alias if len(of_one) == 1 else "" for _, of_one in reads)
        return logical.Join(at, tuple(plan for plan, _ in reads), tuple(names), condition)

    def _source(self, node: statements.Source | statements.JoinText) -> Read:
        if isinstance(node, statements.JoinText):
            sides = [self._source(node.left), self._source(node.right)]
            items = [item for _, of_one in sides for item in of_one]
            return self._joined(node.at, sides, node.condition), items
        plan: logical.Logical
        if isinstance(node.relation, nodes.Name):
            plan = scan = self._catalog.scan(node.relation, self._text)
            item = From(node.alias or scan.name, scan.name, scan.fields)
        else:
            plan = logical.Derived(node.at, self.plan(node.relation))
            item = From(node.alias, "", plan.fields)
        if node.window is not None:
            plan = self._window(node.window, plan)
        return plan, [item]

    def _window(self, node: statements.WindowText, plan: logical.Logical) -> logical.Window:
        if not answers_a_stream(plan):
            refuse("a window follows a stream, and this is a relation", node.at, self._text)
        kind = window_kind(node.words)
        if kind is None:
            message = f"[{' '.join(node.words)}] is no window; expected {_WINDOWS}"
            refuse(message, node.at, self._text)
        if isinstance(kind, logical.Rows) and kind.by:
            scope = Scope([From("", "", plan.fields)], self._text)
            names = (scope.column(nodes.Name(node.at, (name,))).name for name in kind.by)
            kind = logical.Rows(kind.rows, tuple(names))
        return logical.Window(node.at, plan, kind)


def window_kind(words: tuple[str, ...]) -> logical.WindowKind | None:
    """The window that the words between its brackets mean; None when they mean none."""
    match [word.lower() for word in words]:
        case ["now"]:
            return logical.Now()
        case ["rows" | "range", "unbounded"]:
            return logical.Unbounded()
        case ["rows", *digits]:
            rows = _whole("".join(digits))
            return None if rows is None else logical.Rows(rows)
        case ["range", number, *unit] if "slide" not in unit:
            seconds = _seconds(number, unit)
            return logical.Range(seconds) if seconds else None if seconds is None else logical.Now()
        case ["range", _, *_, "slide", _]:
            return window_kind((*words, "seconds"))
        case ["range", number, *unit, "slide", every, every_unit]:
            seconds, slide = _seconds(number, unit), _seconds(every, [every_unit])
            return logical.Range(seconds, slide) if seconds is not None and slide else None
        case ["partition", "by", _, *_] if "rows" in (lower := [w.lower() for w in words]):
            end = len(lower) - 1 - lower[::-1].index("rows")
            rows = _whole("".join(words[end + 1 :]))
            return logical.Rows(rows, tuple(words[2:end])) if rows is not None and end > 2 else None
    return None


def _whole(digits: str) -> int | None:
    return int(digits) if digits.isdecimal() and len(digits) < _DIGITS else None


def _seconds(number: str, unit: list[str]) -> int | None:
    """``5 minutes``, ``1 day``; without a unit seconds."""
    whole = _whole(number)
    factor = _SECONDS.get(unit[0].removesuffix("s")) if len(unit) == 1 else None if unit else 1
    return None if whole is None or factor is None else whole * factor


def _equated(
    sources: tuple[statements.Source | statements.JoinText, ...], where: statements.Clause | None
) -> frozenset[str]:
    """Attributes, lower case, that Where or On says are equal in two sources."""
    open_nodes: list[Any] = [*sources, *(() if where is None else where.parts)]
    attributes: set[str] = set()
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, statements.JoinText):
            open_nodes += [node.left, node.right, node.condition]
        elif isinstance(node, nodes.Logic) and node.word == "and":
            open_nodes += node.parts
        elif isinstance(node, nodes.Compare) and node.op == "=":
            sides = [side for side in (node.left, node.right) if isinstance(side, nodes.Name)]
            names = [side.parts[-1].lower() for side in sides if len(side.parts) > 1]
            attributes.update(names[:1] if len(names) == 2 and names[0] == names[1] else ())
    return frozenset(attributes)


def _stream_word(token: Token) -> nodes.StreamWord:
    return cast(nodes.StreamWord, token.capitalize())
