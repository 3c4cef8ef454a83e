"""What the Matrix page shows: a construct's regions x queries bitmap, and the selectivities.

Rows keep the engine's order (natural order of the regions; the plan's order of the constructs).
Unknown cells stay None: a query that does not use an attribute has no selectivity there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.views.book import Book
from storage.vocabulary.records import Entity, Matrix

REGIONS: Final = "regions"
SELECTIVITY: Final = "selectivity"


class QueryColumn(NamedTuple):
    """A column of either matrix: the query's name, CQL text and attributes (empty = unknown)."""

    name: str
    text: str
    attributes: tuple[str, ...] = ()


class RegionsView(NamedTuple):
    """The bitmap of one attribute selection construct.

    bits[row][column] is 1 when values in the region do not refute the query, 0 when they do.
    hit_prob: share of the n profiled tuples that hit the region; None = not measured.
    """

    attribute: str
    regions: list[str]
    queries: list[QueryColumn]
    bits: list[list[int | None]]
    hit_prob: list[float | None]
    n: int


class SelectivityView(NamedTuple):
    """Conditional selectivity of each construct for each query, constructs in plan order.

    values: P(not refuted by this construct | not refuted by the earlier ones); None where the
    query does not use the attribute, or no sampled tuple got that far. drop_prob: P(dropped here |
    reached). n: sampled tuples.
    """

    attributes: list[str]
    queries: list[QueryColumn]
    values: list[list[float | None]]
    drop_prob: list[float | None]
    n: int


class ConstructChoice(NamedTuple):
    """One construct one can pick. place: in the plan's order from 1, None = not in the plan.

    size: '38 × 25' (regions and queries), '' when not recorded. n_regions, n_queries: of the whole
    construct (a recorded bitmap may be a part of it), None = not recorded.
    """

    entity: str
    attribute: str
    place: int | None
    size: str
    n_regions: int | None = None
    n_queries: int | None = None


def query_columns(entities: Iterable[Entity]) -> dict[str, QueryColumn]:
    """Query name -> column, from the query entities."""
    return {entity.name: _column(entity) for entity in entities if entity.kind == "query"}


def _column(entity: Entity) -> QueryColumn:
    properties = entity.properties or {}
    attributes = tuple(str(name) for name in properties.get("attributes") or ())
    return QueryColumn(entity.name, str(properties.get("text", "")), attributes)


def regions_name(attribute: str) -> str:
    """Name of the matrix with the bitmap of a construct."""
    return f"{REGIONS}:{attribute}"


def build_regions(
    matrix: Matrix, attribute: str, queries: Mapping[str, QueryColumn]
) -> RegionsView:
    """The bitmap view of a matrix of kind 'regions'."""
    return RegionsView(
        attribute=attribute,
        regions=[region_label(label) for label in matrix.rows],
        queries=_columns(matrix, queries),
        bits=[[None if bit is None else int(bit) for bit in row] for row in matrix.values],
        hit_prob=_row_stat(matrix, "hit_prob"),
        n=matrix.n,
    )


def build_selectivity(matrix: Matrix, queries: Mapping[str, QueryColumn]) -> SelectivityView:
    """The view of the matrix of kind 'selectivity'."""
    values = [[None if value is None else float(value) for value in row] for row in matrix.values]
    return SelectivityView(
        attributes=list(matrix.rows),
        queries=_columns(matrix, queries),
        values=values,
        drop_prob=_row_stat(matrix, "drop_prob"),
        n=matrix.n,
    )


def region_label(label: str) -> str:
    """A region as people write it: '(-inf, 60)' becomes '(minus infinity sign, 60)'."""
    return label.replace("(-inf,", "(\u2212∞,").replace("+inf)", "+∞)")


def build_choices(book: Book, order: Sequence[str]) -> list[ConstructChoice]:
    """The constructs, those of the plan's order first and numbered, the rest after them.

    order: entity ids of the plan shown.
    """
    constructs = {entity.id: entity for entity in book.of("selection")}
    ordered = [name for name in order if name in constructs]
    rest = sorted(set(constructs) - set(ordered))
    numbered = [_choice(constructs[name], place) for place, name in enumerate(ordered, start=1)]
    return numbered + [_choice(constructs[name], None) for name in rest]


def pick(choices: Sequence[ConstructChoice], wanted: str | None) -> str | None:
    """The attribute to show: of the wanted entity if it exists, else the first; None without."""
    named = {choice.entity: choice.attribute for choice in choices}
    return named.get(wanted or "", next(iter(named.values()), None))


def _choice(entity: Entity, place: int | None) -> ConstructChoice:
    properties = entity.properties or {}
    n_regions, n_queries = properties.get("n_regions"), properties.get("n_queries")
    known = n_regions is not None and n_queries is not None
    size = f"{n_regions} × {n_queries}" if known else ""
    return ConstructChoice(entity.id, entity.name, place, size, n_regions, n_queries)


def part_of(shown: int, whole: int | None, noun: str) -> str:
    """'25 queries', or '100 of 1819 queries' when a part is shown."""
    return (
        f"{shown} of {whole} {noun}" if whole is not None and whole > shown else f"{shown} {noun}"
    )


def _columns(matrix: Matrix, queries: Mapping[str, QueryColumn]) -> list[QueryColumn]:
    return [queries.get(name, QueryColumn(name, "")) for name in matrix.columns]


def refuted(matrix: Matrix) -> list[float | None]:
    """Share of the queries that are still open before each construct of a matrix of kind
    'selectivity' and that it refutes, over the sampled tuples; None where none is open."""
    still_open = [1.0] * len(matrix.columns)
    shares: list[float | None] = []
    for row in matrix.values:
        before = sum(still_open)
        still_open = [
            share if value is None else share * float(value)
            for share, value in zip(still_open, row, strict=True)
        ]
        shares.append(1 - sum(still_open) / before if before else None)
    return shares


def _row_stat(matrix: Matrix, name: str) -> list[float | None]:
    """A named vector along the rows; unknown throughout when it is not recorded."""
    values = (matrix.row_stats or {}).get(name)
    if values is None or len(values) != len(matrix.rows):
        return [None] * len(matrix.rows)
    return list(values)
