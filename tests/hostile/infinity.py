# expect: nonfinite
"""Answers with scores that are infinite."""

import time

from raw import ANSWER, frame, greet, read_batch, rows_of

connection = greet()
request_id, rows, _ = read_batch(connection)
connection.sendall(frame(ANSWER, request_id, rows, rows_of([1] * rows, (0.5, float("-inf")))))
time.sleep(3600)
