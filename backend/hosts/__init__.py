"""Hosts: what executes the operators of a run."""
