"""The command line: `python -m defense_kit`, and `defense-kit` where it is installed."""

import sys


def main() -> int:
    """Run the command and return its exit status."""
    if sys.version_info < (3, 11):
        print("python -m defense_kit needs Python 3.11 or later; a defense itself runs on 3.8", file=sys.stderr)
        return 2
    from defense_kit.check import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
