"""The timeline of a picture, for the public, the board and the sender.

`events.py` words each fact once; `public.py`, `case.py` and `attack.py` choose which facts their reader may know.
"""
