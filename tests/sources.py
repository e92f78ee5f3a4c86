"""The application's own source files."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
# The top folders of what runs on the server.
FOLDERS = tuple(name for name in _LAYERS if name not in ("tools", "defense_kit"))


def sources() -> dict[str, Path]:
    """Return every source file of the server by its path in the repository."""
    return {str(path.relative_to(ROOT)): path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py"))}
