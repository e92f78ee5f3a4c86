"""A registry of container images on this machine, which an engine may ask over plain HTTP."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from tests.images import Image

_KIND = "application/vnd.docker.distribution.manifest.v2+json"
_UNKNOWN = b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
_PIECE_SECONDS = 0.05


class Registry(ThreadingHTTPServer):
    """Has the images that `offer` was given. `slow` is a part of the path of what it sends a byte at a time.

    `hung_up` is set when the engine stops reading that.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.blobs: dict[str, bytes] = {}
        self.slow, self.hung_up = "", Event()

    def offer(self, image: Image) -> str:
        """Take an image in; return the name under which an engine fetches it."""
        layers = [self._kept("image.rootfs.diff.tar", layer.path.read_bytes()) for layer in image.layers]
        configuration = self._kept("container.image.v1+json", image.configuration)
        manifest = {"schemaVersion": 2, "mediaType": _KIND, "config": configuration, "layers": layers}
        listed = self._kept("distribution.manifest.v2+json", json.dumps(manifest).encode())
        return f"127.0.0.1:{self.server_address[1]}/defense@{listed['digest']}"

    def _kept(self, kind: str, content: bytes) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.blobs[digest] = content
        return {"mediaType": f"application/vnd.docker.{kind}", "size": len(content), "digest": digest}


class _Answer(BaseHTTPRequestHandler):
    server: Registry

    def do_HEAD(self) -> None:
        self._send(body=False)

    def do_GET(self) -> None:
        self._send(body=True)

    def _send(self, *, body: bool) -> None:
        content = b"{}" if self.path == "/v2/" else self.server.blobs.get(self.path.rpartition("/")[2])
        self.send_response(404 if content is None else 200)
        content = content or _UNKNOWN
        self.send_header("Content-Type", _KIND if "/manifests/" in self.path else "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self._write(content)

    def _write(self, content: bytes) -> None:
        if not self.server.slow or self.server.slow not in self.path:
            self.wfile.write(content)
            return
        try:
            for piece in content:
                self.wfile.write(bytes([piece]))
                Event().wait(_PIECE_SECONDS)
        except OSError:
            self.server.hung_up.set()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def registry() -> Iterator[Registry]:
    """Yield a registry that answers until the end."""
    with Registry() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
