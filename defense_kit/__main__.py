"""The command line: `python -m defense_kit check`."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - whoever starts this may have an older one
    print("python -m defense_kit needs Python 3.11 or later; a defense itself runs on 3.8", file=sys.stderr)
    sys.exit(2)

from defense_kit.check import main

sys.exit(main())
