"""Windows of which a probability sample is kept, and aggregates estimated from it. Card B8"""
