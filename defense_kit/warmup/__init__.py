"""The fixed attacks of the warm-up (R40): what a participant runs before the contest, and the organizers after it.

Needs Python 3.11 and the packages of the extra `warmup`; a defense itself needs none of them.
"""

ATTACKS = ("clean", "spatial_grid", "corruptions", "spsa", "boundary")
ATTACK_NAMES = {
    "clean": "Clean pictures",
    "corruptions": "Common corruptions",
    "spatial_grid": "Rotations and translations",
    "spsa": "SPSA",
    "boundary": "Boundary attack",
}
VERSION = "3"  # of the attacks: the same figures can be compared, others cannot
DEFAULT, QUICK, AS_PUBLISHED = "default", "quick", "as-published"  # the modes of a run
QUICK_PICTURES = 20
QUICK_STEPS = {"spsa": 20, "boundary": 375}  # at most; a run of the default mode has those of the attacks
