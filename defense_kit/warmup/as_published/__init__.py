"""The attacks and counts of the code published in 2018, with its deviations (`--as-published`).

The code is google/unrestricted-adversarial-examples at 7285875, with the libraries of its time. Each module holds the
counterparts of one module of the warm-up, and nothing here is used by the other modes. What is random in the published
code is drawn from the streams of the warm-up: its own draws were not seeded, and cannot be repeated.
"""

DEVIATIONS = {
    "ties": "Two equal scores are the answer bicycle; in the contest they are wrong.",
    "order": "The pictures are shuffled; in the contest they ascend by SHA-256.",
    "grid": "The grid has 5 rotations from −18 to 18°, 5 shifts across from −18 to 18 pixels and 31 shifts down from "
    "−30 to 30 pixels; the contest's has 31 rotations from −30 to 30° and shifts by at most 18 pixels.",
    "grid move": "The grid rotates about a point half a pixel below and right of the centre, and truncates to 8 bits; "
    "the contest rotates about the centre and rounds to nearest.",
    "first move": "The first move of SPSA and the boundary attack leaves a border of 10 pixels, rotates "
    "counter-clockwise, interpolates three times without antialiasing, and is not rounded to 8 bits; the contest's "
    "leaves 20 pixels, rotates clockwise, interpolates once after an antialiased resize, and is rounded.",
    "SPSA estimate": "The estimated gradient is 0.01 times as large, so that Adam's ε of 1e-9 acts as 1e-7; the "
    "contest has 1e-8.",
    "SPSA probes": "Probes leave the range of a picture, down to −0.01 and up to 1.01; the contest clips them.",
    "SPSA stop": "A step that follows a picture wrong enough is the last one; the contest stops before it.",
    "SPSA result": "SPSA returns the last picture; the contest returns the worst one that was queried.",
    "boundary start": "The boundary attack has one picture to start from, and gives up where that is no wrong answer; "
    "the contest tries up to ten.",
    "boundary directions": "A direction of the boundary attack is a normal value for each value of the picture; the "
    "contest's is a sign for each.",
    "boundary steps": "The boundary attack takes at most 5,000 steps; the contest takes 7,500, most of which have "
    "fewer queries.",
    "boundary windows": "Only tests say whether a step towards the picture grows or shrinks: it grows where more than "
    "half of their nearer points are wrong, and shrinks below a fifth; in the contest every direction counts, the "
    "shares are a quarter and a tenth, and it shrinks only where at least a fifth of the points on the sphere are "
    "wrong.",
    "boundary end": "The first time its steps are small they are made large again, and every step is a test. The "
    "attack ends after a hundred further small steps in a row; if the steps grow in between, it begins again as "
    "before. The contest ends at the first small step.",
    "boundary goal": "Any wrong answer within an L2 distance of 10 ends the attack at once, also the first of a test; "
    "the contest tries the second too.",
    "boundary pictures": "The boundary attack takes the first 100 pictures of the shuffled order, whatever their "
    "class; the contest takes 50 of each class.",
    "corruption": "The worst corruption has the highest score of the other class, also where the answer is right; the "
    "contest's has the largest margin.",
    "coverage": "80 % of the pictures are rounded down to a whole number, and 0 stands for all; the contest rounds up.",
    "curve": "The curve has 100 points and divides by the pictures that were to be covered. With ties, or with fewer "
    "than 100 pictures, a risk can exceed 100 %; the contest divides by those that are covered.",
}
NOT_REPEATED = (
    "Every draw is seeded by the attack, the picture and the step, as in the contest; the published draws were not.",
    "The boundary attack tries one direction after the other; the published code tried several at once, as many as it "
    "measured to be fastest, and all of them entered its tests.",
    "The boundary attack returns where its walk stands, as in the contest; the published code returned the nearest "
    "wrong picture that it had queried, now and then a point on the sphere.",
    "The boundary attack computes in float32, as in the contest; the published code computed in float64.",
    "A score that is not finite is wrong, and no attack follows it, as in the contest; the published code has no rule.",
)
