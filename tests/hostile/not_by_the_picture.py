# expect: no fault when guesses
# expect: no fault when counts
# expect: no fault when compares
"""Answers by more than the picture: found where another round has other companions and another order."""

import secrets
import sys
from itertools import count

import numpy as np
from raw import serve

seen = count()


def compares(pixels, rows):
    """By the brightness among its companions."""
    brightness = np.frombuffer(pixels, np.uint8).reshape(rows, -1).mean(axis=1)
    return [int(each) for each in brightness > np.median(brightness)]


WAYS = {
    "guesses": lambda pixels, rows: [secrets.randbelow(3) - 1 for _ in range(rows)],
    "counts": lambda pixels, rows: [next(seen) % 2 for _ in range(rows)],
    "compares": compares,
}
serve(WAYS[sys.argv[1]])
