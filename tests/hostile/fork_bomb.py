# expect: crashed
"""Makes processes that make processes, and never stops trying; the first one gives up when it may have no more."""

import os

from raw import greet

greet()
first = os.getpid()
while True:
    try:
        os.fork()
    except OSError:
        if os.getpid() == first:
            raise
