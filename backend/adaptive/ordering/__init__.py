"""The order of steps that drop tuples: the matrix view, its invariant, and the algorithms that
keep it. [B05] chapter 4; filters use it, and the probe orders of joins.
"""
