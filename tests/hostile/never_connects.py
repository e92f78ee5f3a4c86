# expect: start_timeout
"""Runs and does nothing."""

import time

time.sleep(3600)
