# expect: no fault
"""Guesses, differently each time: found by comparing the rounds."""

import secrets

from raw import serve

serve(lambda pixels, rows: [secrets.randbelow(3) - 1 for _ in range(rows)])
