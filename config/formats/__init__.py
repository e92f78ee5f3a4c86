"""How pages and letters write days and times, per language: the one home, read by Django's `date` filter.

A time names its zone: taskers live in many, and a page may be read in another zone than it was meant for.
"""
