"""A textual client of the dashboard's API; standard library only."""
