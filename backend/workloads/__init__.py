"""Workloads: what to run, as one TOML file, and the built-in data sets. See docs/workloads.md."""
