# expect: no fault
# expect: no fault when flood
"""Answers everything, as the rules want it; `flood`: and prints as fast as it can, on both streams, meanwhile."""

import os
import sys
import threading

from raw import birds, serve


def flood(stream):
    while True:
        os.write(stream, b"nonsense " * 4000 + b"\n")


for stream in (1, 2) if "flood" in sys.argv else ():
    threading.Thread(target=flood, args=(stream,), daemon=True).start()
serve(birds)
