"""A core of operators made by the steps of CONTRIBUTING: it turns the probe orders of joins."""
