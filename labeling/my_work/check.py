"""Checks a downloaded record against the site's public keys. Runs anywhere:

python -m labeling.my_work.check my-work.json --keys unanimous-signing-keys.json
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from labeling.my_work.signing import NotGenuine, check_signature, keys_from_jwks

GENUINE, NOT_GENUINE, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 for a genuine file, 1 for any other, 2 when a file cannot be read; say so in one line."""
    asked = _parser().parse_args(arguments)
    try:
        keys = keys_from_jwks(json.loads(asked.keys.read_bytes()))
        with asked.file.open("rb") as lines:
            signature = check_signature(lines, keys)
        record = json.loads(asked.file.read_bytes())
    except NotGenuine as error:
        print(f"NOT GENUINE. {error}")
        return NOT_GENUINE
    except (OSError, ValueError) as error:
        print(f"Cannot be read: {error}", file=sys.stderr)
        return UNREADABLE
    print(
        f"Genuine: {record['count']:,} answers of {record['tasker']}, as of {record['made_at']}, "
        f"signed with the key {signature.key_id}."
    )
    return GENUINE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m labeling.my_work.check", description=__doc__)
    parser.add_argument("file", type=Path, help="the file as it was downloaded")
    parser.add_argument("--keys", type=Path, required=True, help="/.well-known/unanimous-signing-keys.json of the site")
    return parser


if __name__ == "__main__":
    sys.exit(main())
