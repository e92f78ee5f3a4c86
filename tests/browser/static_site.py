"""Serves static/ and tests/browser/pages/ from disk under the policy of the real site, without Django."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = {"/static/": ROOT / "static", "/pages/": ROOT / "tests" / "browser" / "pages"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class _Files(SimpleHTTPRequestHandler):
    def translate_path(self, path: str) -> str:
        folder = next((prefix for prefix in FOLDERS if path.startswith(prefix)), "")
        self.directory = str(FOLDERS.get(folder, ROOT / "nothing-here"))
        return super().translate_path(path.removeprefix(folder))

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not the news of a test run."""


@contextmanager
def static_site() -> Iterator[str]:
    """The address of a server on a free port, such as http://127.0.0.1:40123."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Files)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
