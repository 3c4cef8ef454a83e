"""A core of operators made by the steps of CONTRIBUTING: it drops tuples, by a limit."""
