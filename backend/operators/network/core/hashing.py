"""Factors by which kernels mix words into hashes of 64 bits."""

from __future__ import annotations

from typing import Final

import numpy as np

#: Odd, and with about half of their bits set: a word that is multiplied spreads over all bits.
FACTORS: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
