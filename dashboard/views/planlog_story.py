"""A plan log in the story of a run: what came back, and what adapting returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashboard.views.book import Book
from dashboard.views.planlog import newest_log, plan_log
from dashboard.views.planlog_hindsight import look_back_on, returned_words
from dashboard.views.planlog_plans import name_plans
from dashboard.views.planlog_recurrences import back_words, recurrences
from dashboard.views.postmortem import OpeningLine, Sentence, Story
from storage.tables.rows import StoredLook
from storage.vocabulary.records import PlanVersion

PATH: Final = "/planlog"
#: Kind of a sentence.
BACK: Final = "conditions back"
_BASIS: Final = "It is estimated, against the best single plan in hindsight."


class LogStory(NamedTuple):
    """opening: of the run as a whole; sentences: oldest first."""

    opening: tuple[OpeningLine, ...] = ()
    sentences: tuple[Sentence, ...] = ()


def tell_log(
    looks: Sequence[StoredLook], versions: Sequence[PlanVersion], book: Book, title: str
) -> LogStory:
    """Of the newest log of a unit. looks: of the unit, versions: of its plan, both oldest first;
    title: of the unit, '' where the run has only one."""
    own = newest_log(looks)
    back = look_back_on(own)
    of = f"{title}: " if title else ""
    opening = () if back is None else (OpeningLine(f"{of}{returned_words(back)} {_BASIS}", PATH),)
    rows = recurrences(plan_log(own), name_plans(own, versions, book))
    sentences = tuple(
        Sentence(
            row.batch,
            row.time,
            BACK,
            f"{of}{back_words(row._replace(is_now=False))}",
            link=("/decisions", str(row.decision), own[0].unit_id),
        )
        for row in reversed(rows)
    )
    return LogStory(opening, sentences)


def with_log(story: Story, log: LogStory) -> Story:
    """The story with that of a log, everything in its place."""
    whole = sorted([*story.sentences, *log.sentences], key=lambda each: (each.batch, each.time))
    return Story([*story.opening, *log.opening], whole)
