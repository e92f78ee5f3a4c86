"""Defense protocol v1: the participant's side, and the contest's harness.

A program that answers needs `serve`, and `from_warmup` if it has the warm-up contest's signature. Those need Python 3.8
and NumPy 1.20; everything else in this package belongs to the side that asks.
"""

from defense_kit.classifiers import from_warmup
from defense_kit.serve import ContestReady, serve

__version__ = "1.3.1"
__all__ = ["ContestReady", "from_warmup", "serve"]
