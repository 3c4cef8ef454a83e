"""Random CQL queries as text, right in names and types, over two streams and a relation."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from backend.cql.scope import Catalog
from backend.model.schema import Schema

COLUMNS = {
    "S": (("a", "int"), ("b", "int"), ("c", "string")),
    "T": (("a", "int"), ("d", "int"), ("e", "string")),
    "R": (("k", "int"), ("name", "string")),
}
_SCHEMAS = {n: Schema.parse(", ".join(" ".join(c) for c in cs)) for n, cs in COLUMNS.items()}
CATALOG = Catalog({"S": _SCHEMAS["S"], "T": _SCHEMAS["T"]}, {"R": _SCHEMAS["R"]})
_WINDOWS = (
    *("Rows 3", "Rows 10,000", "rows unbounded", "Range 5", "Range 2 minutes", "NOW", "Range 0"),
    *("Range 1 Hour Slide 5 Minutes", "Range Unbounded", "Range 90 Seconds", "Range 2 days"),
)
_OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


class Written(NamedTuple):
    """A query and what it answers: names (unique) and types."""

    text: str
    columns: tuple[tuple[str, str], ...]


def queries(full: bool = True, depth: int = 2) -> st.SearchStrategy[str]:
    """Texts of queries. full: with windows, streams, Except, Intersect and all operators, which
    SQLite does not know."""
    return _statements(full, depth).map(lambda written: written.text)


@st.composite
def _statements(draw: Any, full: bool, depth: int) -> Written:
    kind = draw(st.integers(0, 9))
    first: Written = draw(_selections(full, depth))
    if kind == 0 and full:
        word = draw(st.sampled_from(["Istream", "DSTREAM", "rstream"]))
        return Written(f"{word}({first.text})", first.columns)
    if kind == 1:
        word = draw(st.sampled_from(["Union", "Except All", "intersect"])) if full else "Union All"
        both = f"{first.text} {word} {first.text}"
        if full and draw(st.booleans()):
            both = f"{first.text} {word} ({both})"
        return Written(both, first.columns)
    return first


@st.composite
def _selections(draw: Any, full: bool, depth: int) -> Written:
    several = draw(st.booleans())
    sources = [draw(_sources(full, depth, f"x{n}" if several else "")) for n in range(1 + several)]
    columns = [column for source in sources for column in source.columns]
    comma = not several or draw(st.booleans())
    if comma:
        read = ", ".join(source.text for source in sources)
    else:
        on = draw(_conditions(columns, 1, full))
        read = f"{sources[0].text} Join {sources[1].text} On {on}"
    where = f" Where {draw(_conditions(columns, 2, full))}" if draw(st.booleans()) else ""
    distinct = draw(st.sampled_from(["", "Distinct "]))
    if draw(st.integers(0, 2)) == 0:
        listed, answer, rest = draw(_grouped(columns, full))
    else:
        listed, answer = draw(_listed(columns, several, full))
        rest = ""
    if full and draw(st.integers(0, 5)) == 0:
        return Written(f"Select Istream({distinct}{listed}) From {read}{where}{rest}", answer)
    return Written(f"Select {distinct}{listed} From {read}{where}{rest}", answer)


@st.composite
def _sources(draw: Any, full: bool, depth: int, alias: str) -> Written:
    if depth and draw(st.integers(0, 3)) == 0:
        inner = draw(_selections(full, depth - 1))
        alias = alias or draw(st.sampled_from(["", "z"]))
        text, columns = f"({inner.text}){f' As {alias}' if alias else ''}", inner.columns
    else:
        name = draw(st.sampled_from(["S", "T", "R"]))
        window = ""
        if full and name != "R" and draw(st.booleans()):
            by = ", ".join(c for c, _ in COLUMNS[name][:2])
            kinds = (*_WINDOWS, f"Partition By {by} Rows 5")
            window = f" [{draw(st.sampled_from(kinds))}]"
        text, columns = f"{name}{window}{f' {alias}' if alias else ''}", COLUMNS[name]
    return Written(text, tuple((f"{alias}.{c}" if alias else c, t) for c, t in columns))


@st.composite
def _listed(draw: Any, columns: list[Any], several: bool, full: bool) -> tuple[str, Any]:
    if not several and draw(st.booleans()):
        return "*", tuple((c.rpartition(".")[2], t) for c, t in columns)
    parts, answer = [], []
    for n in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(sorted({t for _, t in columns})))
        parts.append(f"{draw(_values(columns, kind, 2, full))} As n{n}")
        answer.append((f"n{n}", kind))
    return ", ".join(parts), tuple(answer)


@st.composite
def _grouped(draw: Any, columns: list[Any], full: bool) -> tuple[str, Any, str]:
    groups = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    numbers = [c for c in columns if c[1] == "int"] or [("1", "int")]
    calls = st.sampled_from(["count(*)", "count(Distinct {})", "SUM({})", "min({})", "max({})"])
    picked = [draw(calls).format(draw(st.sampled_from(numbers))[0]) for _ in range(2)]
    parts = [f"{c} As g{n}" for n, (c, _) in enumerate(groups)]
    parts += [f"{call} As m{n}" for n, call in enumerate(picked)]
    answer = (*((f"g{n}", t) for n, (_, t) in enumerate(groups)), ("m0", "int"), ("m1", "int"))
    rest = f" Group By {', '.join(c for c, _ in groups)}" if groups else ""
    if groups and draw(st.booleans()):
        rest += f" Having {picked[0]} {draw(_OPS)} {draw(st.integers(0, 3))}"
    return ", ".join(parts), answer, rest


@st.composite
def _values(draw: Any, columns: list[Any], kind: str, depth: int, full: bool) -> str:
    fitting = [c for c, t in columns if t == kind]
    if fitting and (depth == 0 or kind != "int" or draw(st.booleans())):
        return str(draw(st.sampled_from(fitting)))
    if kind != "int":
        return str(draw(st.sampled_from(["'x'", "'y''s'", "''"])))
    if depth == 0 or draw(st.booleans()):
        return str(draw(st.integers(-3, 5)))
    op = draw(st.sampled_from(["+", "-", "*", "/", "%"] if full else ["+", "-", "*"]))
    left, right = (draw(_values(columns, kind, depth - 1, full)) for _ in range(2))
    text = f"{left} {op} {right}"
    return str(draw(st.sampled_from([text, f"({text})", f"- ({text})"])))


@st.composite
def _conditions(draw: Any, columns: list[Any], depth: int, full: bool) -> str:
    kind = draw(st.sampled_from(sorted({t for _, t in columns})))
    first = draw(_values(columns, kind, 1, full))
    other = st.sampled_from([c for c, t in columns if t == kind])
    if kind == "int":
        other |= st.integers(-3, 5).map(str)
    second, third = draw(other), draw(other)
    if first.startswith("'") or first.lstrip("-").isdigit():
        first = draw(st.sampled_from([c for c, t in columns if t == kind]))
    forms = [
        f"{first} {draw(_OPS)} {second}",
        f"{first} between {second} and {third}",
        f"{first} not in ({second}, {third})",
        f"{first} is not null",
    ]
    if kind == "int":
        forms.append(f"{first} in (Select a From T{' [Rows 3]' if full else ''})")
        forms.append(f"{first} not in (Select k From R Where k > 1)")
    text = draw(st.sampled_from(forms))
    if depth and draw(st.booleans()):
        word = draw(st.sampled_from(["and", "or"]))
        text = f"({text}) {word} not ({draw(_conditions(columns, depth - 1, full))})"
    return str(text)
