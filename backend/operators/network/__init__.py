"""STREAM's operator network: plans, operators, queues, synopses; no Spark, no store."""
