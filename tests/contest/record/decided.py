"""A picture that the board decided about, in each state that its case goes through."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from adjudication.models import Ruling
from contest.board.decisions import cases_close
from contest.board.models import Appeal
from contest.core.enums import VoteChoice
from contest.core.models import Attack, Case, Release
from labeling.models import Image
from scoring.models import Defense
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import LATER, OVERRULE_REJECTED, WHY, Scene
from tests.contest.ledger import cast as money

WEEK = "2026-W47"
TODAY = LATER + timedelta(days=3)
DISSENT = "The shadow hides nothing of the bird, and the rule does not ask for a clear picture."


@dataclass
class Decided:
    """A scene with its case, its appeal, and what the other side answered."""

    scene: Scene
    case: Case
    appeal: Appeal

    @property
    def picture(self) -> str:
        return self.scene.image.public_id

    def overruled(self) -> "Decided":
        """The board rejects it, two against one who says why."""
        members = self.scene.members
        cast.votes(self.case, members[:2], OVERRULE_REJECTED)
        cast.vote(self.case, members[2], VoteChoice.UPHOLD, words=DISSENT, public=True)
        return self._decided()

    def upheld(self) -> "Decided":
        cast.votes(self.case, self.scene.members[:2], VoteChoice.UPHOLD)
        return self._decided(explanation="")

    def asked(self) -> "Decided":
        """The board asks more taskers, who have not answered yet."""
        cast.votes(self.case, self.scene.members[:2], VoteChoice.MORE_TASKERS)
        return self._decided(explanation="")

    def _decided(self, explanation: str = WHY) -> "Decided":
        cast.decide(self.case, self.scene.members[0], explanation=explanation)
        self.case.refresh_from_db()
        return self

    def released(self) -> "Decided":
        release()
        return self

    def answered(self, *said: dict[str, Any]) -> Ruling:
        """The taskers who were asked answer, and the case is closed."""
        panel = self.case.decision.panel
        assert panel is not None
        cast.answers(panel, *said, now=LATER + timedelta(hours=1))
        ruling = cast.rule(panel, now=LATER + timedelta(hours=2))
        assert cases_close(now=LATER + timedelta(hours=3)) == 1
        self.case.refresh_from_db()
        return ruling


def appealed() -> Decided:
    """A ruled picture of week 2026-W47 with the open case of an appeal that was answered; nothing is released."""
    scene = Scene.make()
    drawn(scene)
    return Decided(scene, *_named(*case_cast.picture(scene)))


def _named(case: Case, appeal: Appeal) -> tuple[Case, Appeal]:
    """Give the defense that the appeal is for a name without the ID of the case, which everybody could look for."""
    assert appeal.defense is not None
    appeal.defense.name = f"steady {Defense.objects.count()}"
    appeal.defense.save()
    return case, appeal


def drawn(scene: Scene, seed: int = 7) -> None:
    """Give the picture pixels; the row that they were drawn for would wait for taskers."""
    sha = scene.image.pixels_sha256
    case_cast.on_pixels(scene, seed)
    Image.objects.filter(pixels_sha256=sha[::-1]).delete()


def another(first: Decided, seed: int) -> Decided:
    """One more open case like it, on another picture of the same week."""
    scene = first.scene
    case = case_cast.another(scene)
    _, appeal = _named(case, case_cast.appealed(case, scene.blue))
    case_cast.said(case, scene.red)
    ruling, attack = Ruling.objects.get(image=case.image), Attack.objects.get(image=case.image)
    other = replace(scene, attack=attack, image=attack.image, panel=ruling.panel, ruling=ruling)
    drawn(other, seed)
    return Decided(other, case, appeal)


def release(week: str = WEEK, *, at: datetime = LATER + timedelta(days=2)) -> Release:
    """The week's release, by a row alone."""
    return Release.objects.create(week=week, manifest_sha256=week, counts={}, bytes=1, released_at=at)


def broken(what: Decided) -> None:
    money.broken(what.scene.stake.defense, what.scene.attack)
