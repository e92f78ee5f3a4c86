"""Date and time formats per language, for Django's `date` filter.

A time names its zone: taskers live in many, and a page may be read in another zone than it was meant for.
"""
