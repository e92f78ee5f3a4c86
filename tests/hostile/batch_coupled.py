# expect: no fault
"""Answers each picture by its brightness among its companions: found where another round has other companions."""

import numpy as np
from raw import serve


def among_companions(pixels, rows):
    brightness = np.frombuffer(pixels, np.uint8).reshape(rows, -1).mean(axis=1)
    return [int(each) for each in brightness > np.median(brightness)]


serve(among_companions)
