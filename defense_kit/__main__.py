"""The command line: `python -m defense_kit check`."""

import sys

from defense_kit.check import main

sys.exit(main())
