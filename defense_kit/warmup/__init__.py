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
EXPLANATIONS = {  # of the warnings of a report, by their code
    "quick": "It shows that everything runs, and what breaks at once.",
    "as-published": "They are for comparison with the figures of 2018, below which the deviations are listed.",
    "randomised": "An attack that compares scores is misled by noise. A high accuracy says little.",
    "changed": "It answers by more than the picture, for example by what it was asked before. A high accuracy says "
    "little.",
    "bad rows": "Their confidence is the lowest, so they are covered last.",
    "stuck": "Noise, or answers that depend on what was asked before, may be the reason.",
    "flat": "SPSA follows differences between scores. Where there are none it cannot go anywhere, so a high accuracy "
    "under SPSA says little.",
    "no_start": "The boundary attack starts from a picture of the other class that is answered with that class. "
    "If none of those that it tries is, the moved picture is the result.",
    "slow": "The attacks run all the same; they take longer.",
}


def warning_code(warning: str) -> str:
    """Return the code that a warning of a report begins with."""
    return warning.partition(":")[0]
