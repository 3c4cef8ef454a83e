"""The most frequent form of query without the grammar: ten thousand are registered at once.

``Select * From Stream Where a = 1 and b < 2.5 and c = 'x'`` is cut with two regular expressions
into the nodes the parser gives, several times as fast. Everything else, and every text with an
error in it, is left to the parser, which knows where things stand.
"""

from __future__ import annotations

import re
from typing import Final

from backend.cql import nodes, statements
from backend.cql.nodes import NOWHERE
from backend.cql.syntax import reserved_words

#: Blanks as the grammar has them; cut off both ends first, so that no blank can be taken two ways
#: and every pattern here takes time linear in the text.
_BLANKS: Final = " \t\f\r\n"
_SELECTION: Final = re.compile(
    r"select\s*\*\s*from\s+([a-z_]\w*)(?:\s+where\s+(\S.*))?",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_AND: Final = re.compile(r"(?<!\s)\s++and\s++", re.IGNORECASE | re.ASCII)
_COMPARISON: Final = re.compile(
    r"([a-z_]\w*)\s*(<=|>=|<>|!=|=|<|>)\s*(?:(-?[0-9]+(?:\.[0-9]+)?)|'([^']*)')",
    re.IGNORECASE | re.ASCII,
)
_STAR: Final = statements.SelectList(NOWHERE, (statements.Star(NOWHERE, ""),))


def plain_selection(text: str) -> statements.Selection | None:
    """The syntax tree of a conjunction of comparisons; None for any other text. Its nodes do not
    tell where they stand."""
    match = _SELECTION.fullmatch(text.strip(_BLANKS).removesuffix(";").rstrip(_BLANKS))
    if match is None or match[1].lower() in reserved_words():
        return None
    sources = (statements.Source(NOWHERE, nodes.Name(NOWHERE, (match[1],)), None, ""),)
    if match[2] is None:
        return statements.Selection(NOWHERE, _STAR, sources)
    parts: list[nodes.Node] = []
    for piece in _AND.split(match[2]):
        part = _comparison(piece)
        if part is None:
            return None
        parts.append(part)
    where = parts[0] if len(parts) == 1 else nodes.Logic(NOWHERE, "and", tuple(parts))
    return statements.Selection(
        NOWHERE, _STAR, sources, (statements.Clause(NOWHERE, "where", (where,)),)
    )


def _comparison(piece: str) -> nodes.Compare | None:
    match = _COMPARISON.fullmatch(piece)
    if match is None or match[1].lower() in reserved_words():
        return None
    name, op, number, string = match.groups()
    constant = nodes.Constant(
        NOWHERE, "string" if number is None else "number", number or string or ""
    )
    return nodes.Compare(
        NOWHERE, "<>" if op == "!=" else op, nodes.Name(NOWHERE, (name,)), constant
    )
