"""The plan log and the autopilot: what was decided on which statistics, and what follows from it.

Pure, and the same for all systems. A unit gives its statistics S, its plan P and cost(P, S).
[B05] chapter 7; the autopilot is ours.
"""
