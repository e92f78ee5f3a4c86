# expect: batch_timeout
"""Takes a batch and sleeps."""

import time

from raw import greet, read_batch

connection = greet()
read_batch(connection)
time.sleep(3600)
