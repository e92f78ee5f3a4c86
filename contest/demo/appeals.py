"""What the demo's teams say against a verdict, so that the board has a case to decide."""

from datetime import datetime

from django.contrib.auth.models import User

from contest.appeals.grounds import appealable
from contest.appeals.services import appeal_send, statement_send
from contest.core.models import Team

ARGUMENT = (
    "One wing hides the body, and the tail lies in the shadow. Taskers who only see this picture cannot say that the "
    "bird is complete: we ask the board to look at the marked part."
)
ANSWER = "Three taskers outlined the same whole bird on their own, and each of them called it complete."
# In whole pixels of the 299 that a picture has on each side.
MARK = {"x": 90, "y": 80, "width": 120, "height": 110, "words": "Is the body all there?"}


def appeals_play(teams: dict[str, Team], now: datetime) -> None:
    """Let the defenders appeal the newest verdict that they may, and the attackers answer."""
    pictures = [each.ruling.image for each in appealable(teams["blue"], now)]
    sent = [each for each in pictures if each.attacks.filter(team=teams["red"]).exists()]
    if not sent:
        return
    blue, red = (User.objects.get(membership__team=teams[name], membership__captain=True) for name in ("blue", "red"))
    appeal = appeal_send(image=sent[-1], team=teams["blue"], argument=ARGUMENT, marks=[MARK], by=blue, now=now)
    statement_send(case=appeal.case, team=teams["red"], words=ANSWER, by=red, now=now)
