# expect: protocol
"""Waits for two batches and answers the second first."""

import time

from raw import answer, greet, read_batch

connection = greet()
first, rows, _ = read_batch(connection)
second, _, _ = read_batch(connection)
answer(connection, second, [1] * rows)
answer(connection, first, [1] * rows)
time.sleep(3600)
