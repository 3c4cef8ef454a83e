"""What a lottery of tickets starts with: tickets and seed. [L12] §6"""

from __future__ import annotations

from typing import Final

#: What each construct starts with; no construct ever holds less.
FIRST_TICKETS: Final = 1


def ticket_seed(plan_version: int, batch_id: int, partition: int = 0) -> int:
    """The seed of one part of a batch; each part starts with FIRST_TICKETS everywhere."""
    return ((plan_version & 0xFFFF) << 48) | ((partition & 0xFFFF) << 32) | (batch_id & 0xFFFFFFFF)
