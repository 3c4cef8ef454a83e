"""Joins that keep less than all: what is decided, and on which windows."""
