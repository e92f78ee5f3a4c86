"""A case with everything on it: drawn pixels, outlines, two appeals' worth of arguments, marks, and a settled one."""

from datetime import timedelta
from typing import Any

import numpy as np
from django.contrib.auth.models import User

from contest.board.cases import party_add
from contest.board.models import Appeal, AppealStatement, Disclosure
from contest.board.motions import motion_open
from contest.board.recusal import DISCLOSURE_VALID_FOR
from contest.core.enums import AppealSide, DecisionKind, PartyRole, VoteChoice
from contest.core.models import Case, Member, Team
from labeling.enums import Answer, Label
from labeling.models import Image
from scoring.reference.drawing import draw
from tests import factories
from tests.contest.board import cast
from tests.contest.board.cast import LATER, Scene
from tests.contest.ledger import cast as money
from tests.scoring.cast import stored

SMALL: dict[str, Any] = {"outline": "[[[20,30],[160,30],[160,180],[20,180]]]", "box": (2000, 3000, 16000, 18000)}
ARGUMENT = "The wing is cut off at the left border: see mark a. A tasker who looks for it cannot call it complete."
ANSWER = "Nothing is cut off. The dark part at the border is the branch that the bird sits on."


def on_pixels(scene: Scene, seed: int = 7) -> None:
    """Give the picture of a scene pixels that can be served: those of another row, which goes."""
    drawn = stored(draw(Label.BIRD, np.random.default_rng(seed), 299))
    sha, drawn_sha = scene.image.pixels_sha256, drawn.pixels_sha256
    Image.objects.filter(pk=drawn.pk).update(pixels_sha256=sha[::-1])
    Image.objects.filter(pk=scene.image.pk).update(pixels_sha256=drawn_sha)
    scene.image.refresh_from_db()


def appealed(case: Case, by: Team, *, side: AppealSide = AppealSide.DEFENDER, **more: Any) -> Appeal:
    """An appeal on a case, by rows alone."""
    party_add(case, by, PartyRole.APPELLANT, now=LATER)
    told = {"argument": ARGUMENT, "marks": [{"x": 2, "y": 60, "width": 40, "height": 50, "words": "the wing"}]}
    return Appeal.objects.create(
        case=case,
        team=by,
        image=case.image,
        ruling=case.ruling,
        defense=money.defense(f"of {by.name} {case.public_id}", by) if side == AppealSide.DEFENDER else None,
        side=side,
        sent_at=LATER,
        **(told | more),
    )


def disclosed(scene: Scene) -> Appeal:
    """The sender's appeal against a rejection, to whose teams nothing ties the members."""
    case = scene.opened()
    for member in scene.members:
        cast.tell(case, member)
    return appealed(case, scene.red, side=AppealSide.ATTACKER)


def said(case: Case, by: Team) -> AppealStatement:
    """What the other side answers."""
    return AppealStatement.objects.create(case=case, team=by, words=ANSWER, sent_at=LATER + timedelta(hours=2))


def picture(scene: Scene) -> tuple[Case, Appeal]:
    """The open case of a scene, appealed by the defender and answered by the sender."""
    appeal = appealed(scene.opened(), scene.blue)
    said(appeal.case, scene.red)
    return appeal.case, appeal


def motion(scene: Scene, by: User, team: Team | None = None) -> Case:
    """A motion to let a team attack without a paper."""
    return motion_open(
        DecisionKind.GRANT,
        subject={"team": [(team or scene.red).pk]},
        reason="They asked, and we know them.",
        by=by,
        now=LATER,
    )


def another(scene: Scene, *said: dict[str, Any], sender: Team | None = None) -> Case:
    """The open case of another picture, ruled upon by these answers."""
    return scene.beside(*said, sender=sender).opened()


def rich(members: int = 3) -> tuple[Scene, Case]:
    """A rejected picture on which taskers differ, with outlines, appealed by its sender, and a settled case like it."""
    scene = Scene.make(valid=False, members=members)
    on_pixels(scene)
    unsure = {"bird": Answer.UNSURE_YES} | SMALL
    before = another(scene, unsure, cast.SURE, cast.SURE)
    cast.decided(
        before, scene.members, VoteChoice.UPHOLD, explanation="It stands: one tasker was not sure, and says why."
    )
    # Said too long ago to stand for the next case.
    Disclosure.objects.filter(case=before).update(made_at=LATER - 2 * DISCLOSURE_VALID_FOR)
    case = appealed(scene.opened(), scene.red, side=AppealSide.ATTACKER).case
    said(case, scene.blue)
    return scene, case


def joins(team: Team, name: str) -> User:
    """Somebody in a team."""
    user = factories.user(name)
    Member.objects.create(team=team, user=user, captain=True, joined_at=money.BEFORE)
    return user
