"""The timeline of a picture, as the public, the board and the sender of an attack read it.

`events.py` words each fact once; `public.py`, `case.py` and `attack.py` choose which facts their reader may know.
"""
