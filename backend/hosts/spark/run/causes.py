"""Errors of Spark's workers in one line."""

from __future__ import annotations

import re

from backend.hosts.contract import cause

#: The last line of a Python traceback in the message of a Java exception.
_RAISED = re.compile(
    r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Lost|Damaged|Refused): .*$", re.MULTILINE
)
#: Of what is said in a sentence of ours the name says nothing.
_OURS = re.compile(r"^(?:\w+\.)*(?:StateLost|StateDamaged|ReshardingRefused): ")


def worker_cause(error: BaseException) -> str:
    """What went wrong, in one line: of an error in a worker the last line of its traceback."""
    lines = _RAISED.findall(str(error))
    return _OURS.sub("", str(lines[-1] if lines else cause(error)))[:500]
