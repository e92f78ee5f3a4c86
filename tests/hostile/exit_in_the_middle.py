# expect: crashed
"""Answers one batch and ends in the middle of the second answer."""

import os

from raw import ANSWER, answer, frame, greet, read_batch, rows_of

connection = greet()
request_id, rows, _ = read_batch(connection)
answer(connection, request_id, [1] * rows)
request_id, rows, _ = read_batch(connection)
connection.sendall(frame(ANSWER, request_id, rows, rows_of([1] * rows))[:-5])
os._exit(3)
