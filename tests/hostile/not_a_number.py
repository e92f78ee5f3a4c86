# expect: nonfinite
"""Answers with scores that are not numbers."""

import time

from raw import ANSWER, frame, greet, read_batch, rows_of

connection = greet()
request_id, rows, _ = read_batch(connection)
connection.sendall(frame(ANSWER, request_id, rows, rows_of([1] * rows, (0.5, float("nan")))))
time.sleep(3600)
