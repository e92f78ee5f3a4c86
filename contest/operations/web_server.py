"""Builds the command line of the web server (decision 34)."""

import sys

# 16 KiB for a request's line and headers together; 30 s for the answers under way at the end.
_LIMITS = ["--http1-buffer-size", "16384", "--workers-kill-timeout", "30"]
# A thread keeps its database connection, with its prepared statements, as long as it lives.
_THREADS = ["--blocking-threads-idle-timeout", "600"]


def web_server_command(port: int, *, workers: int = 2, threads: int = 16, module: str = "config.wsgi") -> list[str]:
    """Return the command that serves on this port of this machine: `workers` processes of up to `threads` threads."""
    granian = [sys.executable, "-m", "granian", f"{module}:application", "--interface", "wsgi", "--http", "1"]
    size = ["--port", str(port), "--workers", str(workers), "--blocking-threads", str(threads)]
    return [*granian, "--no-ws", *size, *_THREADS, *_LIMITS, "--respawn-failed-workers", "--log-level", "error"]
