"""A system that samples, added by the steps of CONTRIBUTING.md; the battery tries it as any other.

A query without a condition lets a share of the tuples pass; the share is halved while more than a
bound do.
"""
