# expect: no fault
"""Answers everything, as the rules want it."""

from raw import birds, serve

serve(birds)
