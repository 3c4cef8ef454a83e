"""No text may do anything but be read or be refused with its place: not hang, not break.

What is CQL comes back from print, whether some system runs it or not.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from cProfile import Profile

import pytest

from backend.cql import CqlError, parse_query, runnable
from backend.cql.claims import NotRun
from backend.cql.logical import Logical
from backend.cql.parser import plan_of
from backend.cql.printer import format_plan
from backend.cql.scope import Catalog
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.systems.stream.compiling import compile_queries

STREAMS = {"D": Schema.parse("v int, tag string, ok boolean, day date")}
_F = Function("f", (Parameter("what", "any"),), lambda *a: True)
CATALOG = Catalog(STREAMS, {"E": Schema.parse("v int, n bigint")}, functions=Functions({"f": _F}))
WHERE = "Select * From D Where "
LONGEST = 8000
#: Texts that a reader with two ways to take the same characters, or a recursive one, dies of.
GIANTS = {
    "blanks inside": WHERE + "v = 1" + " " * 7000 + "or v = 2",
    "blanks before a quote": WHERE + "v = 1 and" + "\n" * 7000 + "'",
    "blanks alone": " " * LONGEST,
    "blanks after": WHERE + "v = 1" + "\t" * 7000,
    "newlines after select": "Select" + "\n" * LONGEST + "x",
    "comments": WHERE + "v = 1 " + "--\n" * 2600 + "or",
    "one comment": WHERE + "--" + "x" * LONGEST,
    "quotes, odd": WHERE + "tag = " + "'" * 7999,
    "quotes, even": WHERE + "tag = " + "'" * 8000,
    "backquotes": "Select * From " + "`" * 8001,
    "not": WHERE + "not " * 1900 + "v=1",
    "not in parentheses": WHERE + "not(" * 1900 + "v=1" + ")" * 1900,
    "parentheses, open": WHERE + "(" * LONGEST,
    "parentheses": WHERE + "(" * 3900 + "v=1" + ")" * 3900,
    "or in and": WHERE + "(v=1 or (v=2 and " * 450 + "v=2" + "))" * 450,
    "signs": WHERE + "v = " + "- " * 3900 + "1",
    "signs of an attribute": WHERE + "v = " + "- " * 3900 + "v",
    "sum": WHERE + "v" + "+v" * 3900 + "=1",
    "product": WHERE + "v" + " *v" * 2600 + "=1",
    "memberships": WHERE + "v in (Select v From D Where " * 280 + "v=1" + ")" * 280,
    "subqueries": "Select * From (" * 500 + "Select * From D" + ")" * 500,
    "unions": " Union ".join(["Select * From D"] * 350),
    "streams of streams": "Istream(" * 900 + "Select * From D" + ")" * 900,
    "joins": "Select * From D " + "Join D On v=v " * 500,
    "calls": WHERE + "f(" * 2600 + "v" + ")" * 2600,
    "many parts": WHERE + " or ".join(["v=1"] * 900),
    "a long list": WHERE + "v in (" + ",".join("1" * 3900) + ")",
    "groups": "Select " + ",".join(["v"] * 1900) + " From D Group By " + ",".join(["v"] * 1900),
    "sources": "Select 1 From " + ",".join(f"D d{n}" for n in range(1000)),
    "columns of sources": "Select "
    + ",".join(f"d{n}.v" for n in range(500))
    + " From "
    + ",".join(f"D d{n}" for n in range(500)),
    "stars of a join": "Select *, *, *, * From " + ",".join(f"D d{n}" for n in range(1000)),
    "stars of stars": "Select *, * From (" * 36 + "Select * From D" + ")" * 36,
    "a long name": WHERE + "a" * 7900 + " = 1",
    "many parts of a name": WHERE + "a." * 3900 + "a=1",
    "a dot after blanks": "Select a" + " " * 7900 + ".",
    "aggregates": "Select " + ",".join(f"sum(v+{n})" for n in range(800)) + " From D",
    "what follows from equalities": "Select d0.v From "
    + ",".join(f"D d{n}" for n in range(90))
    + " Where "
    + " and ".join(f"d{n}.v=d{n + 1}.v" for n in range(89))
    + "".join(f" and d0.v<>{n}" for n in range(900)),
    "words of a date": WHERE + "date " * 1500,
    "a long number": WHERE + "v = " + "1" * 7900,
    "a large exponent": WHERE + "v = 1e" + "9" * 7900,
    "a window of many words": "Select * From D [" + "Rows " * 1500 + "]",
}
#: Refused at their end, after all the work that reading them is.
LATE = {
    **{f"{name}, not closed": text + " )" for name, text in GIANTS.items()},
    "an unknown attribute after many": WHERE + " or ".join(["v=1"] * 900) + " or zz=1",
    "an unknown group": "Select v From D Group By " + ",".join(["v"] * 3800) + ",zz",
    "a list of two types": WHERE + "v in (" + ",".join("1" * 3900) + ",'a')",
    "an order of aggregates": "Select "
    + ",".join(f"sum(v+{n})" for n in range(750))
    + " From D Order By 1",
    "a column without a type": "Select " + ",".join(["v"] * 1990) + ",null From D",
    "a large column": "Select " + ",".join(["v"] * 1990) + "," + "9" * 20 + " From D",
    "an unknown attribute after equalities": GIANTS["what follows from equalities"] + " and zz=1",
    "blanks": "Select" + " " * 1600,
}
#: Calls of functions a character of a text that is refused: so its time grows with its length.
MOST_CALLS = 200
#: A refusal takes so long at most on a machine of its own, in s of processor time; others may be
#: several times as slow.
MOST_S, SLOWER = 0.2, 15
_WORDS = """Select * From D Where v tag ok day and or not in between is null like ( ) [ ] , ; .
= <> != < <= > >= == + - / 1 -2 3.5 1e400 'x' '' 'O''Hare' `v` ` ' " ! & | -- /* */ [Rows 5]
Istream( Rstream( Distinct Group By Having Order Union All Except Join On As true false [Now]
[Range 5 Minutes] count(*) f(v) DATE'2013-01-01' TIMESTAMP'x' E zz [Partition By v Rows 5]"""
_ODD = (
    " ",
    "\n",
    "\t",
    "\r\n",
    "\f",
    "\0",
    "\ud800",
    "\udfff",
    "\x85",
    "é",
    "🙂",
    "\u2003",
    "\x1b",
)
WORDS = (*_WORDS.split(), *_ODD)
SEEDS = (
    "Select * From D Where v = 1 and tag <> 'x'",
    "Select * From D As d Where not (d.v between 1 and 5 or tag in ('a', 'b')) -- why\n;",
    "Select Istream(v, count(*) As n) From D [Range 5 Minutes] Where ok Group By v Having n > 1",
    "Select Distinct x.v, sum(E.n) % 7 As n From (D [Rows 5]) x Join E On x.v = E.v Group By x.v",
    "Rstream(Select v From D [Now] Union (Select 1 From D Except Select 2 From E))",
    "Select v From (Select v, - (v + 1) * 2 From D) Where v > (Select max(v) From E) and f(tag)",
    "Select * From D Where v in (Select v From D [Rows 10]) and day >= DATE '2013-01-31'",
)


def read(text: str) -> None:
    """Parse; what is refused is refused with a place in the text, in words that can be written."""
    check(lambda: parse_query("q", text, STREAMS))
    check(lambda: printed(plan_of(text, CATALOG)))


def printed(plan: Logical) -> None:
    text = format_plan(plan)
    assert plan_of(text, CATALOG) == plan
    with suppress(NotRun):
        runnable.check(plan)


def check(reading: Callable[[], object]) -> None:
    try:
        reading()
    except CqlError as error:
        refusal = error
    else:
        return
    assert min(refusal.line, refusal.column) >= 1
    assert refusal.message
    str(refusal).encode()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", GIANTS)
def test_a_giant_text_is_read_or_refused_at_once(name: str) -> None:
    read(GIANTS[name])


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", GIANTS)
def test_a_giant_query_is_compiled_or_refused_at_once(name: str) -> None:
    try:
        query = parse_query("q", GIANTS[name], STREAMS)
    except CqlError:
        return
    if query.plan is not None:
        plan = compile_queries([query], since={"q": 0}, tick_us=1_000_000)
        assert len(repr(plan.operators)) < 1_000_000


def calls_of(reading: Callable[[], object]) -> int:
    """How many functions are called, ours and others."""
    with Profile() as profile, suppress(CqlError):
        reading()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("name", [*GIANTS, *LATE])
def test_what_a_refusal_takes_grows_with_the_text_and_no_faster(name: str) -> None:
    text = (GIANTS | LATE)[name]
    for reading in (lambda: parse_query("q", text, STREAMS), lambda: plan_of(text, CATALOG)):
        begun = time.thread_time()
        try:
            reading()
        except CqlError:
            assert time.thread_time() - begun < MOST_S * SLOWER
            assert calls_of(reading) < MOST_CALLS * len(text)


def mutated(chance: random.Random) -> str:
    """A text of random words, or a right one with words and characters changed."""
    if chance.random() < 0.5:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 30)))
    text = list(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(text) + 1)
        kind = chance.random()
        if kind < 0.4:
            text[place : place + chance.randint(1, 5)] = []
        elif kind < 0.8:
            text.insert(place, chance.choice(WORDS))
        else:
            text[place:place] = text[chance.randrange(len(text) + 1) :][:40]
    return "".join(text)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(4))
def test_five_hundred_random_texts_are_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(500):
        read(mutated(chance))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 44))
def test_many_more_random_texts_are_read_or_refused(seed: int) -> None:
    test_five_hundred_random_texts_are_read_or_refused(seed)


@pytest.mark.parametrize("nested", ["not ", "not (", "not not not "])
def test_nesting_is_refused_before_anything_recurs(nested: str) -> None:
    times = 1900 // len(nested.split())
    text = WHERE + nested * times + "v = 1" + ")" * (nested.count("(") * times)
    with pytest.raises(CqlError) as caught:
        parse_query("q", text, STREAMS)
    assert caught.value.message == "nested deeper than 200 levels"
    assert caught.value.column > len(WHERE)


@pytest.mark.parametrize("bad", ["\udfff", "\0"])
@pytest.mark.parametrize(
    ("text", "place"),
    [("{}", (1, 1)), (WHERE + "v = 1\n and tag = '{}'", (2, 13)), (WHERE + "v=1 --{}", (1, 29))],
)
def test_what_is_no_character_is_refused_at_its_place(
    bad: str, text: str, place: tuple[int, int]
) -> None:
    with pytest.raises(CqlError, match=f"found U\\+{ord(bad):04X}, which is no char") as caught:
        parse_query("q", text.format(bad), STREAMS)
    assert (caught.value.line, caught.value.column) == place
    str(caught.value).encode()
