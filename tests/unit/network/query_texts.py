"""Random CQL queries that run, over small streams, a stored relation and two other queries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from backend.cql import parse_query
from backend.cql.logical import numbered
from backend.model.conditions import ContinuousQuery
from backend.model.schema import Attribute, Schema
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import JoinTrees
from backend.systems.stream.compiling import compile_queries

STREAMS = {
    "S": Schema.parse("a int, b int, c string"),
    "T": Schema.parse("a int, d int"),
    "U": Schema.parse("d int, e double, c string"),
}
RELATIONS = {"R": Schema.parse("a int, c string")}
#: A stream and a relation that others read.
READ = {
    "News": "Select Istream(a, b) From S [Rows 2] Where b > 0",
    "Sums": "Select a, sum(b) As n From S [Range 2] Group By a",
}
#: A tick, in microseconds.
SECOND = 1_000_000
_OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
TRUE = " Where 1 = 1"
_NUMBERS = ("int", "bigint", "double")


class Written(NamedTuple):
    """A query and the names and types of its columns. is_stream: windows may stand behind it."""

    text: str
    columns: tuple[tuple[str, str], ...]
    is_stream: bool = False


def parsed(text: str) -> ContinuousQuery:
    """A query over all of these."""
    known = {name: parse_query(name, one, STREAMS) for name, one in READ.items()}
    return parse_query("q", text, STREAMS, relations=RELATIONS, queries=known)


def compiled(*texts: str, since: tuple[int, ...] = (), joins: JoinTrees = "mjoin") -> NetworkPlan:
    """Queries q0, q1… of one plan. since: the batch each was registered at."""
    queries = [replace(parsed(text), name=f"q{n}") for n, text in enumerate(texts)]
    batches = {f"q{n}": (since or (0,) * len(texts))[n] for n in range(len(texts))}
    return compile_queries(queries, since=batches, tick_us=SECOND, joins=joins)


def query_texts() -> st.SearchStrategy[str]:
    """Texts of queries; some read a stored relation alone, which does not run. Types of columns are
    told roughly: int where it may be double."""
    depths = st.sampled_from([0, 0, 0, 1, 1, 2])
    return depths.flatmap(_statements).map(lambda written: written.text)


@st.composite
def _statements(draw: Any, depth: int) -> Written:
    kind = draw(st.integers(0, 9))
    if kind == 3:
        name, where = draw(st.sampled_from(["S", "T", "U"])), draw(st.sampled_from(["", TRUE]))
        columns = tuple((one.name, one.type) for one in STREAMS[name].attributes)
        return Written(f"Select * From {name}{where}", columns, True)
    first: Written = draw(_selections(depth))
    if kind == 0:
        word = draw(st.sampled_from(["Istream", "Dstream", "Rstream"]))
        return Written(f"{word}({first.text})", first.columns, True)
    if kind in (1, 2):
        word = draw(st.sampled_from(["Union", "Except", "Intersect"]))
        second = draw(_of_types([kind for _, kind in first.columns]))
        return Written(f"{first.text} {word} {second}", first.columns)
    return first


@st.composite
def _of_types(draw: Any, kinds: list[str]) -> str:
    """A selection with columns of these types."""
    name = draw(st.sampled_from(["S", "T", "U"]))
    columns = [(one.name, one.type) for one in STREAMS[name].attributes]
    listed = []
    for place, kind in enumerate(kinds):
        family = _NUMBERS if kind in _NUMBERS else (kind,)
        fitting = [c for c, t in columns if t in family] or ["'x'" if kind == "string" else "1"]
        if kind == "boolean":
            fitting = [f"({columns[0][0]} > 1)"]
        listed.append(f"{draw(st.sampled_from(fitting))} As k{place}")
    return f"Select {', '.join(listed)} From {name}{draw(_windows(columns))}"


@st.composite
def _windows(draw: Any, columns: list[tuple[str, str]]) -> str:
    by = ", ".join(draw(st.lists(st.sampled_from([c for c, _ in columns]), min_size=1, max_size=2)))
    n = draw(st.integers(1, 3))
    kinds = ["", f" [Rows {n}]", f" [Range {n}]", " [Now]", " [Rows Unbounded]"]
    kinds += [f" [Range {n} Seconds Slide {draw(st.integers(1, 3))} Seconds]"]
    kinds += [f" [Partition By {by} Rows {n}]"]
    return str(draw(st.sampled_from(kinds)))


@st.composite
def _sources(draw: Any, depth: int, alias: str) -> Written:
    kind = draw(st.integers(0, 9))
    if depth and kind < 3:
        inner = draw(_statements(depth - 1))
        window = draw(_windows(list(inner.columns))) if inner.is_stream else ""
        text, columns = f"({inner.text}){window} As {alias}", inner.columns
    elif kind == 3:
        name = draw(st.sampled_from(["R", "News", "Sums"]))
        known = {
            "R": (("a", "int"), ("c", "string")),
            "News": (("a", "int"), ("b", "int")),
            "Sums": (("a", "int"), ("n", "bigint")),
        }
        columns = known[name]
        window = draw(_windows(list(columns))) if name == "News" else ""
        text = f"{name}{window} As {alias}"
    else:
        name = draw(st.sampled_from(["S", "S", "T", "T", "U"]))
        columns = tuple((one.name, one.type) for one in STREAMS[name].attributes)
        text = f"{name}{draw(_windows(list(columns)))} As {alias}"
    return Written(text, tuple((f"{alias}.{c}", t) for c, t in columns))


@st.composite
def _selections(draw: Any, depth: int) -> Written:
    n_sources = draw(st.sampled_from([1, 1, 1, 2, 2, 3]))
    sources = [draw(_sources(depth, f"x{n}")) for n in range(n_sources)]
    columns = [column for source in sources for column in source.columns]
    linked = [draw(_links(sources, n)) for n in range(1, n_sources)]
    if n_sources == 2 and linked[0] and draw(st.booleans()):
        read, wheres = f"{sources[0].text} Join {sources[1].text} On {linked[0]}", []
    else:
        read, wheres = ", ".join(source.text for source in sources), [one for one in linked if one]
    if draw(st.integers(0, 2)) == 0:
        wheres.append(f"({draw(_conditions(columns, 1))})")
    if draw(st.integers(0, 7)) == 0:
        numbers = [c for c, t in columns if t in _NUMBERS] or ["1"]
        word = draw(st.sampled_from(["in", "not in"]))
        name, inside = draw(st.sampled_from([("T", "d"), ("R", "a"), ("S", "b"), ("U", "e")]))
        window = draw(st.sampled_from(["", " [Rows 2]", " [Range 1]"])) if name != "R" else ""
        relation = f"Select {inside} From {name}{window}"
        wheres.append(f"{draw(st.sampled_from(numbers))} {word} ({relation})")
    where = f" Where {' and '.join(wheres)}" if wheres else ""
    distinct = draw(st.sampled_from(["", "", "Distinct "]))
    lists = (_grouped, _grouped, _listed, _listed, _listed, _starred)
    listed, answer, rest = draw(draw(st.sampled_from(lists))(columns))
    if draw(st.integers(0, 6)) == 0:
        word = draw(st.sampled_from(["Istream", "Dstream", "Rstream"]))
        return Written(f"Select {word}({distinct}{listed}) From {read}{where}{rest}", answer, True)
    return Written(f"Select {distinct}{listed} From {read}{where}{rest}", answer)


@st.composite
def _links(draw: Any, sources: list[Written], n: int) -> str:
    """Equalities of a source with one before it."""
    if draw(st.integers(0, 9)) == 0:
        return ""
    one = draw(st.sampled_from(sources[:n]))
    pairs = [
        f"{a} = {b}"
        for a, kind in one.columns
        for b, other in sources[n].columns
        if kind == other or {kind, other} <= set(_NUMBERS)
    ]
    if not pairs:
        return ""
    n_pairs = draw(st.sampled_from([1, 1, 1, 2]))
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=n_pairs, unique=True))
    return " and ".join(chosen)


@st.composite
def _listed(draw: Any, columns: list[tuple[str, str]]) -> Any:
    parts, answer = [], []
    for n in range(draw(st.integers(1, 3))):
        name, kind = draw(st.sampled_from(columns))
        text = name
        if kind in _NUMBERS and draw(st.integers(0, 2)) == 0:
            op, other = draw(st.sampled_from("+-*/%")), draw(st.integers(0, 3))
            text = f"{name} {op} {other}"
            kind = "double" if op == "/" or kind == "double" else "bigint"
        elif draw(st.integers(0, 5)) == 0:
            text, kind = f"({name} is null)", "boolean"
        parts.append(f"{text} As k{n}")
        answer.append((f"k{n}", kind))
    return ", ".join(parts), tuple(answer), ""


@st.composite
def _starred(draw: Any, columns: list[tuple[str, str]]) -> Any:
    """All columns of sources, and one by its own name, which is numbered where it is there."""
    every = {"*": columns}
    for name, kind in columns:
        every.setdefault(f"{name.partition('.')[0]}.*", []).append((name, kind))
    star, one = draw(st.sampled_from(list(every))), draw(st.sampled_from(columns))
    found = numbered(Attribute(c.rpartition(".")[2], t) for c, t in [*every[star], one])
    return f"{star}, {one[0]}", tuple((field.name, field.type) for field in found), ""


@st.composite
def _grouped(draw: Any, columns: list[tuple[str, str]]) -> Any:
    groups = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    parts = [f"{c} As k{n}" for n, (c, _) in enumerate(groups)]
    answer = [(f"k{n}", t) for n, (_, t) in enumerate(groups)]
    calls = []
    for n in range(draw(st.integers(1, 2))):
        column, kind = draw(st.sampled_from(columns))
        functions = ["count", "min", "max", *(["sum", "avg"] if kind in _NUMBERS else [])]
        function = draw(st.sampled_from(functions))
        inside = draw(st.sampled_from(["", "Distinct "])) + column
        if kind in _NUMBERS and draw(st.integers(0, 3)) == 0:
            inside, kind = f"{column} + 1", "double" if kind == "double" else "bigint"
        if function == "count" and draw(st.booleans()):
            inside = "*"
        calls.append(f"{function}({inside})")
        sums = "double" if kind == "double" else "bigint"
        kinds = {"count": "bigint", "sum": sums, "avg": "double"}
        parts.append(f"{calls[-1]} As m{n}")
        answer.append((f"m{n}", kinds.get(function, kind)))
    rest = f" Group By {', '.join(c for c, _ in groups)}" if groups else ""
    if draw(st.integers(0, 2)) == 0:
        rest += f" Having count(*) {draw(_OPS)} {draw(st.integers(0, 2))}"
        if groups and groups[0][1] in _NUMBERS and draw(st.booleans()):
            rest += f" and {groups[0][0]} > 0"
    return ", ".join(parts), tuple(answer), rest


@st.composite
def _conditions(draw: Any, columns: list[tuple[str, str]], depth: int) -> str:
    name, kind = draw(st.sampled_from(columns))
    if kind in _NUMBERS:
        other = st.integers(0, 2).map(str)
        other |= st.sampled_from([c for c, t in columns if t in _NUMBERS])
        forms = [
            f"{name} {draw(_OPS)} {draw(other)}",
            f"{name} % 2 {draw(_OPS)} {draw(other)}",
            f"{name} between {draw(other)} and {draw(other)}",
            f"{name} not in (0, {draw(other)})",
        ]
    elif kind == "string":
        forms = [f"{name} {draw(_OPS)} 'x'", f"{name} like 'x%'", f"{name} in ('x', 'y')"]
    else:
        forms = [f"{name} = true", f"not {name}"]
    text = draw(st.sampled_from([*forms, f"{name} is not null"]))
    if depth and draw(st.booleans()):
        word = draw(st.sampled_from(["and", "or"]))
        text = f"({text}) {word} not ({draw(_conditions(columns, depth - 1))})"
    return str(text)


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from([1, 0, 1, 2, 1, None]),
    "double": st.sampled_from([1.0, 0.0, 1.0, 0.5, None, -0.0]),
    "string": st.sampled_from(["x", "y", "x", None, "xy"]),
}


def inputs(last: int = 5, most: int = 7) -> st.SearchStrategy[dict[str, list[Any]]]:
    """Tuples with timestamps for all streams, and those of the stored relation at instant 0."""
    found = {}
    for name, schema in {**STREAMS, **RELATIONS}.items():
        row = st.tuples(*(_VALUES[one.type] for one in schema.attributes))
        time = st.just(0) if name in RELATIONS else st.integers(0, last)
        found[name] = st.lists(st.tuples(row, time), min_size=2, max_size=most)
    return st.fixed_dictionaries(found)
