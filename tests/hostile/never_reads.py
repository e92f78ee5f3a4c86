# expect: batch_timeout
"""Lets the pictures pile up in the socket."""

import time

from raw import greet

connection = greet()
time.sleep(3600)
