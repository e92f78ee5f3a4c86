# expect: nonfinite when infinity
# expect: nonfinite when not_a_number
# expect: protocol when label_7
# expect: protocol when too_few_rows
# expect: protocol when too_many_rows
# expect: protocol when wrong_magic
# expect: protocol when payload_of_4_gib
# expect: protocol when out_of_order
# expect: batch_timeout when slow_bytes
# expect: crashed when exit_in_the_middle
# expect: start_timeout when never_connects
# expect: hello_timeout when before_hello
# expect: protocol when another_version
# expect: batch_timeout when never_reads
# expect: batch_timeout when in_a_batch
# expect: crashed when hang_up
# expect: crashed when early_exit
"""Goes along up to some point, and there does nothing but run, ends, or answers as the rules forbid and stays."""

import os
import sys
import time

from raw import ANSWER, HELLO, answer, connect, frame, greet, read_batch, rows_of

until = sys.argv[1]
if until == "early_exit":
    sys.exit(0)
if until in ("before_hello", "another_version"):
    connection = connect()
if until == "another_version":
    connection.sendall(frame(HELLO, payload=b'{"name": "hostile", "protocol": 2}', version=2))
if until in ("never_connects", "before_hello", "another_version"):
    time.sleep(3600)
connection = greet()
if until == "never_reads":
    time.sleep(3600)
number, rows, _ = read_batch(connection)
birds = [1] * rows
right = frame(ANSWER, number, rows, rows_of(birds))


def out_of_order():
    answer(connection, read_batch(connection)[0], birds)


def slow_bytes():
    for byte in right:
        connection.sendall(bytes([byte]))
        time.sleep(0.2)


def exit_in_the_middle():
    connection.sendall(right[:-5])
    os._exit(3)


WAYS = {
    "infinity": lambda: connection.sendall(frame(ANSWER, number, rows, rows_of(birds, (0.5, float("-inf"))))),
    "not_a_number": lambda: connection.sendall(frame(ANSWER, number, rows, rows_of(birds, (0.5, float("nan"))))),
    "label_7": lambda: answer(connection, number, [7] * rows),
    "too_few_rows": lambda: answer(connection, number, birds[1:]),
    "too_many_rows": lambda: answer(connection, number, [*birds, 1]),
    "wrong_magic": lambda: connection.sendall(frame(ANSWER, number, rows, rows_of(birds), magic=b"HTTP")),
    "payload_of_4_gib": lambda: connection.sendall(frame(ANSWER, number, rows, bytes(4096), length=2**32 - 1)),
    "out_of_order": out_of_order,
    "slow_bytes": slow_bytes,
    "exit_in_the_middle": exit_in_the_middle,
    "in_a_batch": lambda: None,
    "hang_up": connection.close,
}
WAYS[until]()
time.sleep(3600)
