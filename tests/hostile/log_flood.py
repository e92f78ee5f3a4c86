# expect: no fault
"""Prints as fast as it can, on both streams, while it answers."""

import os
import threading

from raw import birds, serve


def flood(stream):
    while True:
        os.write(stream, b"nonsense " * 4000 + b"\n")


for stream in (1, 2):
    threading.Thread(target=flood, args=(stream,), daemon=True).start()
serve(birds)
