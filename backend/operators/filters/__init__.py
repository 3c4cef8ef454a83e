"""Pipelined filters over Arrow batches."""
