# expect: no fault
"""Answers by how many pictures it has seen so far: found where another round has another order."""

from itertools import count

from raw import serve

seen = count()
serve(lambda pixels, rows: [next(seen) % 2 for _ in range(rows)])
