"""What an operator of a plan does, and what is to know of it before it runs.

Each kind of operator is a class of ``backend.operators.network.kinds``: plain data (its condition,
its window...), and the answers to everything a plan is asked: how it reads in words, where
conditions and columns go in its tree, by which attributes its tuples may be spread over shards,
what it keeps in stores. What runs it is made by ``shards.making``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from lark import Token

from backend.cql.nodes import At, Node
from backend.model.schema import Attribute
from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.layouts import StorePlan

#: How more than two inputs are joined: by one operator, or by one for each further input.
JoinTrees: TypeAlias = Literal["mjoin", "binary"]
#: Where columns of a tree have gone: old place -> new one.
Places: TypeAlias = dict[int, int]
#: The key of a stored relation that every shard reads whole.
EVERYWHERE: Final = -1
Work = TypeVar("Work", bound="OperatorWork")


class OperatorWork(ABC):
    """A kind of operator. Subclasses are frozen dataclasses, and pickled with a plan.

    Questions about what comes out of an operator take the answers for its inputs.
    """

    __slots__ = ()
    #: The glossary's word, '' for what reads a stream or a stored relation; the thesis' name
    #: (table 2.1).
    role: ClassVar[str]
    name: ClassVar[str] = ""

    def named(self, n_inputs: int) -> str:
        """The thesis' name of the operator (table 2.1), or what kind of input it is."""
        return self.name or self.role

    @property
    def reads(self) -> str:
        """The stream or stored relation that an input reads; '' for other operators."""
        return ""

    @property
    def is_stored(self) -> bool:
        """Whether it reads a stored relation."""
        return False

    @property
    def keeps(self) -> str:
        """What its synopsis holds; '' without state."""
        return ""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All expressions it evaluates, over columns by place."""
        return ()

    @abstractmethod
    def text(self, columns: Sequence[Sequence[str]]) -> str:
        """What it does, in words of CQL. columns: names of each input's."""

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        """More to say of it, as JSON."""
        return {}

    # ------------------------------------------------------------ what comes out of it

    def grows(self, inputs: Sequence[bool]) -> bool:
        """Whether nothing is ever taken away: all elements have sign +."""
        return all(inputs)

    def fifo(self, inputs: Sequence[bool], grows: bool) -> bool:
        """Whether elements are taken away in the order they came, if at all."""
        return grows

    def is_net(self, inputs: Sequence[bool], n_columns: Sequence[int]) -> bool:
        """Whether no two elements of one tick cancel, as they come. n_columns: of each input."""
        return False

    def stream_of(self, inputs: Sequence[str]) -> str:
        """The stream whose tuples these are, all of them in their order; '' where they are not."""
        return ""

    # ------------------------------------------------------------ rewrites of its tree

    @abstractmethod
    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        """Its tree with the tuples alone that fulfil all conditions, each as low as it can go."""

    @abstractmethod
    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        """Its tree with at least some of its columns (ascending), and where these are."""

    def any_column(self, tree: OperatorTree) -> int:
        """A column where none is needed, one that is read in any case if there is one."""
        return 0

    @abstractmethod
    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        """The ways to spread its tree, the best first. inputs: those of each input. Raises
        OneShard."""

    # ------------------------------------------------------------ what it keeps in stores

    def synopses(
        self, planned: PlannedOperator, operators: Operators, sharing: bool
    ) -> Iterator[tuple[str, StorePlan]]:
        """Its synopses, each as a store of its own, with the name of the group that shares one."""
        return iter(())

    def window_of(
        self, planned: PlannedOperator, operators: Operators
    ) -> tuple[PlannedOperator, tuple[int, ...]] | None:
        """The range or rows window whose elements these are, perhaps with fewer columns, and which
        of its columns; None: they are not."""
        return None


@dataclass(frozen=True, slots=True)
class PlannedOperator:
    """An operator of a network. id: says what it does and to what, so that it is the same operator
    in another version of the plan when the id is. fields: names and types of its columns. fifo: its
    elements are taken away in the order they came (windows but 'partition', and what only selects
    or projects from those)."""

    id: str
    work: OperatorWork
    inputs: tuple[str, ...]
    fields: tuple[Attribute, ...]
    fifo: bool = False

    def doing(self, kind: type[Work]) -> Work:
        """Its work, which is of this kind. Raises ValueError: it is of another."""
        if not isinstance(self.work, kind):
            what, wanted = type(self.work).__name__, kind.__name__
            raise ValueError(f"{self.id!r} is {what} of {len(self.inputs)} inputs, not {wanted}")
        return self.work

    @property
    def column_types(self) -> tuple[str, ...]:
        """'int64' or 'float64' for each column."""
        return tuple(str(dtype_of(field.type)) for field in self.fields)


#: The operators of a plan by id.
Operators: TypeAlias = Mapping[str, PlannedOperator]


class OneShard(Exception):
    """Why a tree cannot be spread, in words that go on a sentence."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A way to spread a tree. places: its columns that have the key's value. tree: with the keys of
    its inputs. whole: every shard has all of it, and the same."""

    places: frozenset[int]
    tree: OperatorTree
    whole: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OperatorTree:
    """An operator over its inputs: what a query comes to before its operators are shared with
    others. key: of a stream or stored relation that is read, the place of the column that says the
    shard; EVERYWHERE: every shard reads all of it; None: the tree runs in one shard."""

    work: OperatorWork
    inputs: tuple[OperatorTree, ...]
    fields: tuple[Attribute, ...]
    key: int | None = None

    @property
    def input(self) -> OperatorTree:
        """The only input."""
        (only,) = self.inputs
        return only

    @property
    def grows(self) -> bool:
        """Whether nothing is ever taken away: all elements have sign +."""
        return self.work.grows([input.grows for input in self.inputs])

    @property
    def fifo(self) -> bool:
        """Whether elements are taken away in the order they came, if at all."""
        return self.work.fifo([input.fifo for input in self.inputs], self.grows)

    @property
    def stream(self) -> str:
        """The stream whose tuples these are, all of them; '' where they are not."""
        return self.work.stream_of([input.stream for input in self.inputs])

    def column(self, place: int, token: Token) -> At:
        """One of its columns. token: where it is named in the text."""
        return At(token, place, self.fields[place].type)

    def over(self, inputs: Iterable[OperatorTree]) -> OperatorTree:
        """The same over other inputs with the same columns, without a key."""
        return OperatorTree(self.work, tuple(inputs), self.fields)

    def pushed(self, conditions: Sequence[Node] = (), joins: JoinTrees = "mjoin") -> OperatorTree:
        """The tuples that fulfil all conditions, each condition as low as it can go; with equal
        attributes known to joins.

        A condition goes below whatever takes tuples one by one: windows of time, but not [Rows n]
        and [Partition By … Rows n], whose tuples it would change (thesis, section 2.2.1; card A5).
        """
        return self.work.pushed(self, tuple(conditions), joins)

    def pruned(self, needed: Collection[int]) -> tuple[OperatorTree, Places]:
        """With at least the columns needed, and where they are; there is at least one."""
        keep = sorted(set(needed)) or [self.work.any_column(self)]
        return self.work.pruned(self, keep)

    def ways(self) -> list[Spread]:
        """The ways to spread it, the best first, one for each set of columns. Raises OneShard."""
        first: dict[tuple[bool, frozenset[int]], Spread] = {}
        for way in self.work.ways(self, [input.ways() for input in self.inputs]):
            first.setdefault((way.whole, way.places), way)
        return list(first.values())

    def spread(self, inputs: Sequence[Spread], places: Iterable[int]) -> Spread:
        """Itself over inputs that are spread in some way."""
        whole = all(input.whole for input in inputs)
        tree = replace(self, inputs=tuple(input.tree for input in inputs))
        return Spread(frozenset() if whole else frozenset(places), tree, whole)

    def spread_by(
        self, ways: Iterable[Spread], columns: Sequence[int], why: str, first: int = 0
    ) -> list[Spread]:
        """Itself over its input where that keeps tuples of equal ``columns`` together, which are
        its own from ``first`` on. why: of the OneShard that is raised where no way does."""
        spreads = []
        for way in ways:
            places = [first + k for k, place in enumerate(columns) if place in way.places]
            if places or way.whole:
                spreads.append(self.spread([way], places))
        if not spreads:
            raise OneShard(why)
        return spreads

    def walk(self) -> Iterator[OperatorTree]:
        """All operators, each behind its inputs, as often as they are there."""
        for input in self.inputs:
            yield from input.walk()
        yield self


def kept_places(kept: Sequence[int]) -> Places:
    """Where columns are when these alone are left."""
    return {place: k for k, place in enumerate(kept)}
