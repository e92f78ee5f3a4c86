# expect: protocol
"""Speaks version 2 from the first frame on."""

import time

from raw import HELLO, connect, frame

connection = connect()
connection.sendall(frame(HELLO, payload=b'{"name": "hostile", "protocol": 2}', version=2))
time.sleep(3600)
