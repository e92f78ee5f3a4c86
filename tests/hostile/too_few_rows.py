# expect: protocol
"""Leaves a picture out."""

import time

from raw import answer, greet, read_batch

connection = greet()
request_id, rows, _ = read_batch(connection)
answer(connection, request_id, [1] * (rows - 1))
time.sleep(3600)
