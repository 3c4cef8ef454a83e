"""What stands in for the lines of a toy in VOCABULARIES and FACES."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dashboard import systems
from dashboard.base import face
from storage.vocabulary import registry
from storage.vocabulary.properties import Vocabulary, joined


@contextmanager
def lines_of(vocabulary: Vocabulary, shown: face.Face) -> Iterator[None]:
    """Its words are known and its face is used, also by an application that is made now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "KNOWN", joined((*registry.VOCABULARIES, vocabulary)))
        patch.setattr(systems, "FACES", (*systems.FACES, shown))
        patch.setattr(face, "_USED", list(systems.FACES))
        yield
