"""Processes that the program starts and ends: children, their progress, watchdogs."""
