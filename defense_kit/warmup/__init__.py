"""The fixed attacks of the warm-up (R40): what a participant runs before the contest, and the organizers after it.

Needs Python 3.11 and the packages of the extra `warmup`; a defense itself needs none of them.
"""

ATTACKS = ("clean", "spatial_grid", "corruptions", "spsa", "boundary")
VERSION = "1"  # of the attacks: the same figures can be compared, others cannot
