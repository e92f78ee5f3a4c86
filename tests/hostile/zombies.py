# expect: no fault
"""Leaves dead children unreaped, and living ones that left its session and that no signal but one ends."""

import os
import signal
import time

from raw import birds, serve

for _ in range(5):
    if os.fork() == 0:
        os._exit(0)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
serve(birds)
