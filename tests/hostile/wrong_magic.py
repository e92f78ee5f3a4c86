# expect: protocol
"""Speaks another protocol."""

import time

from raw import ANSWER, frame, greet, read_batch, rows_of

connection = greet()
request_id, rows, _ = read_batch(connection)
connection.sendall(frame(ANSWER, request_id, rows, rows_of([1] * rows), magic=b"HTTP"))
time.sleep(3600)
