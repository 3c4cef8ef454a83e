"""Attribute selection constructs (ASC) and their adaptive visit order. [L12], [L07]

Many conjunctive selection queries on one stream are answered with one look-up per attribute;
the subject of adaptation is the order of those look-ups. docs/papers.md names the sources.
"""
