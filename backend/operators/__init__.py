"""Operators: Arrow chunks in, chunks and counts out. No Spark, no store."""
