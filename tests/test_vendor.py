"""Files of others are served as they came: unchanged, named, licensed."""

import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "static" / "vendor"
_ROW = re.compile(r"^\| `(?P<file>[^`]+)` \| .+ \| .+ \| `(?P<sha256>[0-9a-f]{64})` \|$", re.MULTILINE)


def test_every_file_is_listed_and_the_one_that_was_listed() -> None:
    listed = {row["file"]: row["sha256"] for row in _ROW.finditer((VENDOR / "README.md").read_text())}
    files = [path for path in VENDOR.rglob("*") if path.is_file() and path.name != "README.md"]
    assert {str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files} == listed


def test_no_style_or_script_reaches_for_another_host() -> None:
    served = [path for path in (ROOT / "static").rglob("*") if path.suffix in (".css", ".js")]
    assert served
    for path in served:
        text = path.read_text()
        assert "sourceMappingURL" not in text, path
        assert not re.search(r"""(url\(|@import|from)\s*["']?(https?:)?//""", text), path
