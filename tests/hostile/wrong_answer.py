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
"""Answers a batch in a way that breaks the rules, and stays."""

import os
import sys
import time

from raw import ANSWER, answer, frame, greet, read_batch, rows_of

connection = greet()
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
}
WAYS[sys.argv[1]]()
time.sleep(3600)
