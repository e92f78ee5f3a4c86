# expect: start_timeout when never_connects
# expect: hello_timeout when before_hello
# expect: protocol when another_version
# expect: batch_timeout when never_reads
# expect: batch_timeout when in_a_batch
# expect: crashed when hang_up
# expect: crashed when early_exit
"""Goes along up to some point, and then does nothing but run, or ends."""

import sys
import time

from raw import HELLO, connect, frame, greet, read_batch

until = sys.argv[1]
if until == "early_exit":
    sys.exit(0)
if until in ("before_hello", "another_version"):
    connection = connect()
if until == "another_version":
    connection.sendall(frame(HELLO, payload=b'{"name": "hostile", "protocol": 2}', version=2))
if until in ("never_reads", "in_a_batch", "hang_up"):
    connection = greet()
if until in ("in_a_batch", "hang_up"):
    read_batch(connection)
if until == "hang_up":
    connection.close()
time.sleep(3600)
