"""Adaptive order of pipelined filters: A-Greedy and its variants. [B05] chapter 4

[B05] S. Babu: Adaptive query processing in data stream management systems, 2005. See
docs/papers.md for what is implemented where, deviations and errata.
"""
