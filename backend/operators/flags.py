"""Columns that sampling adds to a batch. No pyspark: the workers read them."""

from typing import Final

#: The tuple is profiled; it is sent to the dashboard, if it matches.
PROFILED: Final = "_profiled"
RECENT: Final = "_recent"
