"""The vocabulary of introspection: plain data that imports nothing of ours."""
