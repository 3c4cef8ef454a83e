"""Joins short of memory: which tuples of their windows are kept. Card B8"""
