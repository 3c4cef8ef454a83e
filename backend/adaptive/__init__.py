"""Adaptive algorithms: one paper = one package, one algorithm = one module. Pure code."""
