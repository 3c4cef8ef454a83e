"""The words a store knows: those of every run, and those of each system."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.agreedy import AGREEDY
from storage.vocabulary.amri import AMRI
from storage.vocabulary.asc import ASC
from storage.vocabulary.cals import CALS
from storage.vocabulary.core import CORE
from storage.vocabulary.joins import JOINS
from storage.vocabulary.kmon import KMON
from storage.vocabulary.properties import Vocabulary, joined
from storage.vocabulary.retention import RETENTION
from storage.vocabulary.stream import STREAM

VOCABULARIES: Final[tuple[Vocabulary, ...]] = (
    *(CORE, ASC, AGREEDY, STREAM, JOINS, RETENTION),
    *(KMON, AMRI, CALS),
)

#: All of them together. It is read through this module.
KNOWN: Vocabulary = joined(VOCABULARIES)
