"""The closed lists of the vocabulary: each word has one meaning in store, API and UI."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

EntityKind: TypeAlias = Literal[
    "query",
    "operator",
    "queue",
    "synopsis",
    "store",
    "cache",
    "index",
    "monitor",
    "pool",
    "system",
]
#: One meaning each: a plan was adopted; a better one was found and not taken (kept, cool-down); a
#: knob was turned; the set of queries changed; the run began, was resumed, paused, stepped or asked
#: to stop; tuples were kept aside; some queries could not take tuples that others took; an input
#: failed, ended or keeps queries waiting; a replayed input began anew at its end; the statistics
#: changed; another algorithm took over; answers became approximate, or exact again.
EventKind: TypeAlias = Literal[
    "rearrangement",
    "held back",
    "knob",
    "query",
    "run",
    "misfit",
    "missed",
    "input",
    "loop",
    "change",
    "algorithm",
    "exactness",
]
#: One meaning each: the candidate was adopted; the incumbent was found to be best; the inequality
#: did not hold; held back by the cool-down; too little evidence; adapting is off; it was done, and
#: the plan is the same.
Verdict: TypeAlias = Literal[
    "switched", "kept", "below_threshold", "cooldown", "thin", "pinned", "acted"
]
#: Gives tuples; came to its end; gives no more, for the reason noted.
InputState: TypeAlias = Literal["open", "ended", "failed"]
RunState: TypeAlias = Literal["starting", "running", "ended", "interrupted", "failed"]
#: What the engine does at the moment, told while it lasts ('' = nothing that lasts): the steps of a
#: batch, then what Spark does between two.
Phase: TypeAlias = Literal[
    "",
    "the batch is planned",
    "its job runs",
    "results are written",
    "units decide",
    "Spark commits the batch",
    "Spark starts the query",
    "the source is asked for tuples",
    "Spark plans the batch",
    "waits for input",
]
#: The last: what people wrote down, which asks nothing of the engine.
CommandState: TypeAlias = Literal["requested", "applied", "refused", "recorded"]
Severity: TypeAlias = Literal["info", "warning", "error"]


def words_of(words: Any) -> tuple[str, ...]:
    """The words of a closed list; a tuple of words stands for itself."""
    return words if isinstance(words, tuple) else get_args(words)


def listed(words: Any) -> str:
    """The words of a closed list, or of a tuple, for people: "open, ended or failed"."""
    *others, last = words_of(words)
    return f"{', '.join(others)} or {last}"
