"""Secrets among the options of sources and sinks: which they are, and what is recorded instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

#: What is recorded instead of a secret.
HIDDEN: Final = "(hidden)"
#: Where a word of a name ends without a mark: apiKey, APIKey.
_JOINT: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKS: Final = re.compile(r"[^a-z0-9]+")
#: Names of secrets, of options and of parameters within values alike, as words between strokes. A
#: key is one unless it tells rows apart; the place of a keystore is none.
_SECRET: Final = re.compile(
    r"password|passwd|passphrase|passcode|pwd|secret(?!ar)|jaas|credential|bearer|token(?![a-z])"
    r"|_(?:authorization|cookies?|jwt|sas|sig|signature|connection_?string)_|_(?:auth|pass)_$"
    r"|(?:api|access|account|private|shared|secret|signing|encryption)_?key(?![a-z])"
    r"|_(?!(?:primary|foreign|partition|sort|row|message|record|valid|group|join|unique)_)"
    r"[a-z0-9]+_key_$"
)
#: Before the last @ of an address: of its authority, or of what follows a word that is no port.
#: Names of containers stand there in Azure's addresses.
_OF_USER: Final = re.compile(
    r"(?<=://)(?<!abfs://)(?<!abfss://)(?<!wasb://)(?<!wasbs://)"
    r"(?:[^/?#\s]*|[^/?#\s]*:(?!\d*(?:[/?#,\s]|$))\S*)(?=@)",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"\b(Bearer|Basic)(\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
_NAMED: Final = re.compile(r"([\w.-]+)[\"']?(?:\s*=|\s*:(?=[\s\"']))\s*")
_VALUE: Final = re.compile(r"\"[^\"]*\"?|'[^']*'?|[^&;\s]*")


def without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    """The options with all names; values of secret ones, and secrets within values, are hidden."""
    return {name: HIDDEN if is_secret(name) else _without(value) for name, value in options.items()}


def is_secret(name: str) -> bool:
    """Whether what an option or parameter of this name holds is a secret."""
    words = _MARKS.sub("_", _JOINT.sub("_", name).lower())
    return _SECRET.search(f"_{words.strip('_')}_") is not None


def _without(value: str) -> str:
    bare = _SCHEME.sub(rf"\1\2{HIDDEN}", _OF_USER.sub(HIDDEN, value))
    parts, at = [], 0
    for named in _NAMED.finditer(bare):
        given = _VALUE.match(bare, named.end())
        if named.start() >= at and given and given[0] and is_secret(named[1]):
            parts += [bare[at : named.end()], HIDDEN]
            at = given.end()
    return "".join([*parts, bare[at:]])
