# expect: no fault
"""Connects a second time, and a third, after it was let in."""

import json

from raw import answer, connect, greet, read_batch

connection = greet()
refused = []
for _ in range(3):
    try:
        connect()
    except OSError as error:
        refused.append(type(error).__name__)
print("PROBE", json.dumps({"refused": refused}), flush=True)
while True:
    request_id, rows, _ = read_batch(connection)
    answer(connection, request_id, [1] * rows)
