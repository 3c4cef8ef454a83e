"""The tables of the packets workload."""

from __future__ import annotations

from backend.workloads.functions import PrefixTable

#: Where the database servers stand: one prefix in sixteen of 10.0.0.0/12.
databases = PrefixTable(["10.3.0.0/17", "10.11.128.0/17"])
