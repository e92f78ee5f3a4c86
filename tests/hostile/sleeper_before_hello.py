# expect: hello_timeout
"""Connects and says nothing."""

import time

from raw import connect

connection = connect()
time.sleep(3600)
