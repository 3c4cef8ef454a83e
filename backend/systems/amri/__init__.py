"""AMRI: routes that change element by element, and indexes by bits that follow them. [WRA13]

Pure: what is assessed, selected, scheduled, migrated and routed, without tuples or a clock.
"""
