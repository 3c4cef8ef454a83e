"""CALS: windows of temporal queries that shed what costs least of their answers. [AL11]"""
