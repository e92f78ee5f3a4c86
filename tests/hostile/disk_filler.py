# expect: disk
"""Writes files until there is no room."""

import tempfile

from raw import greet

greet()
folder = tempfile.mkdtemp()
number = 0
while True:
    number += 1
    with open(f"{folder}/{number}", "wb") as file:
        file.write(bytes(1 << 20))
