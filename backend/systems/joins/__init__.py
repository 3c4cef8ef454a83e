"""Adaptive joins: in which order synopses are probed, and which caches stand in their way.

[B05] chapter 5.
"""
