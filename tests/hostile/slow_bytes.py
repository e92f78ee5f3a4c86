# expect: batch_timeout
"""Answers one byte at a time, each soon enough to look alive."""

import time

from raw import ANSWER, frame, greet, read_batch, rows_of

connection = greet()
request_id, rows, _ = read_batch(connection)
for byte in frame(ANSWER, request_id, rows, rows_of([1] * rows)):
    connection.sendall(bytes([byte]))
    time.sleep(0.2)
