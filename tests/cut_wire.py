"""A wire between browser and server that can be cut at the worst moment: after the commit, before the answer."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

_CHUNK = 65536


class Wire:
    """Relays TCP from a port of its own to `port`. Armed, it swallows the answer to the next request that holds
    `marks`, calls `cut`, and closes both ends."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._armed: tuple[bytes, Callable[[], object]] | None = None
        self.was_cut = threading.Event()

    def arm(self, marks: bytes, cut: Callable[[], object]) -> None:
        self.was_cut.clear()
        self._armed = (marks, cut)

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _relay(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._to))
        except OSError:
            client.close()
            return
        doomed = threading.Event()
        threading.Thread(target=self._upwards, args=(client, server, doomed), daemon=True).start()
        self._downwards(server, client, doomed)

    def _upwards(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with contextlib.suppress(OSError), client, server:
            while data := client.recv(_CHUNK):
                if self._armed is not None and self._armed[0] in data.partition(b"\r\n")[0]:
                    doomed.set()
                server.sendall(data)

    def _downwards(self, server: socket.socket, client: socket.socket, doomed: threading.Event) -> None:
        with contextlib.suppress(OSError), server, client:
            while data := server.recv(_CHUNK):
                if doomed.is_set() and self._armed is not None:
                    cut, self._armed = self._armed[1], None
                    cut()
                    self.was_cut.set()
                    return
                client.sendall(data)


@contextlib.contextmanager
def wire_to(port: int) -> Iterator[Wire]:
    wire = Wire(port)
    threading.Thread(target=wire.serve, daemon=True).start()
    try:
        yield wire
    finally:
        wire.close()
