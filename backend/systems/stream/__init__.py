"""STREAM: continuous queries as one network of operators, queues and synopses (thesis, chapter 2).

Built on plans of ``backend.operators.network``; what works on tuples is there.
"""
