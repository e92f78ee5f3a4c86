# expect: no fault
"""Looks for anything that tells the contest from a trial: environment, names, arguments; and turns the clock."""

import json
import os
import platform
import sys
import time
from pathlib import Path

from raw import birds, serve


def turns_clock():
    try:
        time.clock_settime(time.CLOCK_REALTIME, time.time())
    except OSError:
        return False
    return True


said = {
    "environment": dict(os.environ),
    "hostname": platform.node(),
    "arguments": sys.argv,
    "folder": os.getcwd(),
    "limits": Path("/proc/self/limits").read_text(),
    "turns_clock": turns_clock(),
}
print("PROBE", json.dumps(said), flush=True)
serve(birds)
