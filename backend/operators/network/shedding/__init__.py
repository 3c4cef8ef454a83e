"""CALS: shedding of window tuples that knows what a drop does to coalesced answers. [AL11]

Pure: tuples, runs, accuracy, objectives, receipts and audits, without a clock. What the text has
lost is reconstructed (card B), and an option says so.
"""
