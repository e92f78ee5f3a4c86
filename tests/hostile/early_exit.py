# expect: crashed
"""Ends well before it has done anything."""
