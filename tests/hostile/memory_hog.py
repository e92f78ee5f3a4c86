# expect: out_of_memory
"""Takes memory, and writes to it, until it may have no more."""

from raw import greet

greet()
held = []
while True:
    held.append(bytearray(b"x") * (1 << 20))
