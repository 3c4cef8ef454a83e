"""CALS: its pure core."""
