# expect: crashed
"""Hangs up and goes on running."""

import time

from raw import greet, read_batch

connection = greet()
read_batch(connection)
connection.close()
time.sleep(3600)
