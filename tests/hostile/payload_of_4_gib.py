# expect: protocol
"""Announces 4 GiB and begins to send them."""

import time

from raw import ANSWER, frame, greet, read_batch

connection = greet()
request_id, rows, _ = read_batch(connection)
connection.sendall(frame(ANSWER, request_id, rows, bytes(4096), length=2**32 - 1))
time.sleep(3600)
