# expect: protocol
"""Knows a seventh class."""

import time

from raw import answer, greet, read_batch

connection = greet()
request_id, rows, _ = read_batch(connection)
answer(connection, request_id, [7] * rows)
time.sleep(3600)
