"""The organizers' pages of trials (R31): asking for one, trying one again, the source and the framework check."""

import hashlib
import io
import re
import zipfile
from datetime import datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import strip_tags

from contest.defenses import framework_views
from contest.models import Member, Team
from contest.templatetags.scoring import in_words
from labeling.models import Tasker
from labeling.store import FolderStore, picture_store
from scoring.enums import Fault, RunState, TrialKind
from scoring.models import CopyFlag, Defense, FrameworkCheck, Trial
from scoring.trials.handed_in import source_key
from tests import factories
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db
SMOKE, PRIVATE, EARLIER, PROBE = TrialKind
SOURCE = {"src/model.py": b"import torch\n" * 40, "Dockerfile": b"FROM scratch\n", "weights/net.pt": b"w" * 900}


@pytest.fixture(autouse=True)
def small_pictures() -> None:
    cast.policy_in_force()


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Client:
    client: Client = signed_in(olga)
    return client


@pytest.fixture
def member(rita: User, signed_in: Any) -> Client:
    """A member of the review board, which checks frameworks (R31, 4)."""
    client: Client = signed_in(rita)
    return client


def plain(answer: Any) -> str:
    page = answer.content.decode().replace("<", " <")
    return unescape(re.sub(r"\s+", " ", strip_tags(page)))


def words(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return plain(answer)


def trial_address(defense: Defense, query: str = "") -> str:
    return f"/organizer/defenses/{defense.public_id}/trial/{query}"


def framework_address(defense: Defense, query: str = "") -> str:
    return f"/organizer/defenses/{defense.public_id}/framework/{query}"


def source_address(defense: Defense) -> str:
    return f"/organizer/defenses/{defense.public_id}/source.zip"


def page_address(defense: Defense) -> str:
    return f"/defenses/{defense.public_id}/"


def handed(files: dict[str, bytes] = SOURCE, **values: Any) -> tuple[Defense, bytes]:
    """A container with its source in the store, and the zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return kept(packed.getvalue(), **values), packed.getvalue()


def kept(data: bytes, **values: Any) -> Defense:
    """A container whose source is whatever these bytes are."""
    sha256 = hashlib.sha256(data).hexdigest()
    picture_store().put(source_key(sha256), data)
    return cast.container(source=sha256, **values)


def dead(defense: Defense, kind: TrialKind = SMOKE, fault: Fault = Fault.PLATFORM, **values: Any) -> Trial:
    """A trial that gave up."""
    told = {"state": RunState.DEAD, "fault": fault, "fault_text": "engine away", "totals": {}, "attempt": 3}
    return cast.passed(defense, kind, **(told | values))


# Asking --------------------------------------------------------------------------------------------------------------


class TestAsking:
    def test_first_there_is_only_the_choice_and_the_likeliest_is_chosen(self, organizer: Client) -> None:
        newcomer = cast.container()
        cast.passed(newcomer, SMOKE)
        page = organizer.get(trial_address(newcomer)).content.decode()
        assert page.count('type="radio"') == 4
        assert re.findall(r'value="(\w+)" checked', page) == ["private"]
        assert 'method="post"' not in page.partition("<main")[2].partition("</main>")[0]

    def test_what_it_does_and_replaces_is_told_beforehand(self, organizer: Client) -> None:
        cast.private(4)
        newcomer = cast.container()
        for kind in (SMOKE, PRIVATE, EARLIER):
            cast.passed(newcomer, kind)
        page = words(organizer, trial_address(newcomer, "?kind=private"))
        assert "Pictures 4, those of private set 1" in page
        assert "Enough right on the private set: passed now" in page
        assert "At least one picture a minute: passed now" in page
        assert "No confident mistake" not in page, "another trial decides that"
        replaced = page.partition("Replaces trial 1, ")[2].partition("The newest trial")[0]
        for total in ("10 pictures", "9 right", "1 abstained", "16 answers timed", "in 0.9 s"):
            assert total in replaced
        assert "the new outcome counts even if it is worse" in page
        assert "Trials that come after this one are not begun until it is passed." in page
        assert not Trial.objects.filter(state=RunState.QUEUED).exists(), "looking changes nothing"

    def test_the_first_of_a_kind_replaces_nothing(self, organizer: Client) -> None:
        page = words(organizer, trial_address(cast.container(), "?kind=smoke"))
        assert "Replaces nothing: it would be the first" in page and "stops counting" not in page

    def test_a_dead_one_may_rather_be_tried_again(self, organizer: Client) -> None:
        newcomer = cast.container()
        trial = dead(newcomer)
        answer = organizer.get(trial_address(newcomer, "?kind=smoke"))
        assert "nothing: trial 1 gave up ( platform ). Try that one again instead" in plain(answer)
        assert f'href="/organizer/scoring/retry-trials/?trial={trial.pk}"' in answer.content.decode()

    def test_the_attacks_of_now_are_counted(self, organizer: Client) -> None:
        newcomer = cast.container()
        for kind in (SMOKE, PRIVATE):
            cast.passed(newcomer, kind)
        for verdict in ("valid", "valid", "rejected"):
            factories.attack_row(image := factories.image(origin="attack"))
            scoring_cast.ruled(image, verdict=verdict)
        assert "Pictures 2, by the rulings of now" in words(organizer, trial_address(newcomer, "?kind=earlier"))

    @pytest.mark.parametrize("kind", list(TrialKind))
    def test_each_kind_is_asked_for(
        self, kind: TrialKind, organizer: Client, olga: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hinted: list[str] = []
        monkeypatch.setattr("contest.defenses.trial_views.hint", lambda task: hinted.append(task.name))
        newcomer = cast.container()
        for earlier in TrialKind:
            cast.passed(newcomer, earlier)
        done = organizer.post(trial_address(newcomer), {"kind": kind})
        assert (done.status_code, done["Location"]) == (303, f"{page_address(newcomer)}#trials")
        trial = Trial.objects.get(state=RunState.QUEUED)
        assert (trial.kind, trial.number, trial.asked_by, trial.batch_size) == (kind, 2, olga, 4)
        assert hinted == ["scoring.tasks.work_runs"]
        page = words(organizer, page_address(newcomer))
        assert f"Trial {kind} 2 waits in the queue." in page and f"{kind.capitalize()} 2 queued" in page

    def test_a_published_defense_stays_published(self, organizer: Client) -> None:
        (shipped,) = scoring_cast.publish(factories.NOW, "always-abstain")
        assert "stays published whatever comes out" in words(organizer, trial_address(shipped, "?kind=probe"))
        assert organizer.post(trial_address(shipped), {"kind": "probe"}).status_code == 303


def under_way() -> Defense:
    newcomer = cast.container()
    cast.passed(newcomer, SMOKE, state=RunState.QUEUED)
    return newcomer


def too_early() -> Defense:
    return cast.container()


def without_a_set() -> Defense:
    return cast.container(published_at=factories.NOW)


def retired() -> Defense:
    return cast.container(retired_at=factories.NOW)


REFUSED = [
    (under_way, SMOKE, "This trial is under way already. Wait until it is over."),
    (too_early, EARLIER, "The earlier trial comes after the smoke trial, which has to be passed first."),
    (without_a_set, PRIVATE, "There is no complete private set. Import one with ./unanimous import_private_set."),
    (retired, SMOKE, "A newer version took the place of this defense. Ask for a trial of that one."),
]


@pytest.mark.parametrize(("make", "kind", "said"), REFUSED, ids=[row[0].__name__ for row in REFUSED])
def test_what_cannot_be_asked_for_says_why_before_and_after(
    make: Any, kind: TrialKind, said: str, organizer: Client
) -> None:
    defense = make()
    before = Trial.objects.count()
    looked = organizer.get(trial_address(defense, f"?kind={kind}"))
    assert looked.status_code == 200 and said in plain(looked)
    assert "Ask for it" not in plain(looked), "what would be refused is not offered"
    refused = organizer.post(trial_address(defense), {"kind": kind})
    assert refused.status_code == 409
    assert f"Nothing was asked for. {said}" in plain(refused) and plain(refused).count(said) == 1
    assert Trial.objects.count() == before


@pytest.mark.parametrize("kind", ["", "nonsense", "SMOKE", "smoke\x00", "²"])
def test_what_is_no_trial_is_a_choice_not_made(kind: str, organizer: Client) -> None:
    newcomer = cast.container()
    assert "What it does" not in words(organizer, trial_address(newcomer, f"?kind={kind}"))
    refused = organizer.post(trial_address(newcomer), {"kind": kind})
    assert (refused.status_code, Trial.objects.count()) == (400, 0)
    assert "Which trial" in plain(refused)


# Trying again --------------------------------------------------------------------------------------------------------

RETRY = "/organizer/scoring/retry-trials/"


@pytest.fixture
def three_dead() -> tuple[Trial, Trial, Trial]:
    """Trials that ended by the platform's fault, by the defense's own, and for a defense that is retired."""
    return (
        dead(cast.container("Small net")),
        dead(cast.container("Crashing net"), fault=Fault.CRASHED),
        dead(cast.container("Old net", retired_at=factories.NOW)),
    )


class TestTryingAgain:
    def test_what_gave_up_is_told_in_words(self, three_dead: tuple[Trial, ...], organizer: Client) -> None:
        page = words(organizer, "/organizer/scoring/").partition("Trials before publication")[2]
        assert "Try the one trial again" in page
        assert "Small net , smoke 1 Something around the program failed, not the program. platform engine away" in page
        assert page.count("Try again") == 1 and page.count("final") == 2

    def test_one_is_tried_again(
        self, three_dead: tuple[Trial, ...], organizer: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hinted: list[str] = []
        monkeypatch.setattr("contest.scoring_queue.views.hint", lambda task: hinted.append(task.name))
        platform = three_dead[0]
        page = words(organizer, f"{RETRY}?trial={platform.pk}")
        assert "Trial smoke 1 of Small net gave up: Something around the program failed" in page
        assert Trial.objects.filter(state=RunState.DEAD).count() == 3, "looking changes nothing"
        done = organizer.post(RETRY, {"trial": platform.pk})
        assert (done.status_code, done["Location"]) == (303, "/organizer/scoring/")
        assert hinted == ["scoring.tasks.work_runs"]
        platform.refresh_from_db()
        assert (platform.state, platform.finished_at) == (RunState.QUEUED, None)
        assert "1 trial waits again, for one try each." in words(organizer, "/organizer/scoring/")
        again = organizer.post(RETRY, {"trial": platform.pk})
        assert again.status_code == 409
        assert "somebody did it already" in plain(again) and "There is nothing to try again" in plain(again)

    def test_of_two_the_other_stays(self, three_dead: tuple[Trial, ...], organizer: Client) -> None:
        other = dead(cast.container("Another net"))
        assert organizer.post(RETRY, {"trial": other.pk}).status_code == 303
        assert {each.pk for each in Trial.objects.filter(state=RunState.QUEUED)} == {other.pk}

    def test_all_are_tried_again_but_what_is_final(self, three_dead: tuple[Trial, ...], organizer: Client) -> None:
        also = dead(cast.container("Another net"))
        assert "2 trials gave up through no fault of the defenses. They wait" in words(organizer, RETRY)
        assert "Try all 2 trials again" in words(organizer, "/organizer/scoring/")
        assert organizer.post(RETRY).status_code == 303
        assert {each.pk for each in Trial.objects.filter(state=RunState.QUEUED)} == {three_dead[0].pk, also.pk}
        assert "no trial gave up through a fault of the platform" in plain(organizer.post(RETRY))

    @pytest.mark.parametrize("trial", ["0", "999", "9" * 18])
    def test_what_is_not_dead_is_not_tried(self, trial: str, organizer: Client) -> None:
        assert "There is nothing to try again" in words(organizer, f"{RETRY}?trial={trial}")
        assert organizer.post(RETRY, {"trial": trial}).status_code == 409

    @pytest.mark.parametrize("which", [1, 2])
    def test_what_is_final_is_not_tried_by_its_number_either(
        self, which: int, three_dead: tuple[Trial, ...], organizer: Client
    ) -> None:
        assert organizer.post(RETRY, {"trial": three_dead[which].pk}).status_code == 409
        assert Trial.objects.filter(state=RunState.DEAD).count() == 3

    @pytest.mark.parametrize("trial", ["x", "-1", "²", "9" * 30])
    def test_a_number_that_cannot_be_read_never_means_all(
        self, trial: str, three_dead: tuple[Trial, ...], organizer: Client
    ) -> None:
        assert organizer.post(RETRY, {"trial": trial}).status_code == 409
        assert Trial.objects.filter(state=RunState.DEAD).count() == 3

    def test_the_page_of_the_defense_leads_there(self, three_dead: tuple[Trial, ...], organizer: Client) -> None:
        for trial, offered in zip(three_dead, (True, False, False), strict=True):
            page = organizer.get(page_address(trial.defense)).content.decode()
            assert "gave up" in page
            assert (f'href="{RETRY}?trial={trial.pk}"' in page) is offered


# The framework -------------------------------------------------------------------------------------------------------


class TestTheSource:
    def test_every_file_is_listed_and_each_language_counted(self, organizer: Client) -> None:
        defense, _ = handed()
        page = words(organizer, framework_address(defense))
        assert "3 files, 1.4 kB unpacked." in page
        assert "Weights 1 900 bytes Python 1 520 bytes Dockerfile 1 13 bytes" in page
        assert "Dockerfile Dockerfile 13 bytes src/model.py Python 520 bytes weights/net.pt Weights 900 bytes" in page
        assert f'href="{source_address(defense)}"' in organizer.get(framework_address(defense)).content.decode()

    def test_many_files_come_page_by_page(self, organizer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(framework_views, "FILES_SHOWN", 2)
        defense, _ = handed()
        first = words(organizer, framework_address(defense))
        assert "Files 1 to 2 of 3" in first and "net.pt" not in first and "Further files" in first
        second = words(organizer, framework_address(defense, "?page=2"))
        assert "Files 3 to 3 of 3" in second and "net.pt" in second and "Earlier files" in second
        for nonsense in ("x", "-1", "9" * 5000, "%00"):
            assert "Files 1 to 2 of 3" in words(organizer, framework_address(defense, "?page=x"))
            assert organizer.get(framework_address(defense, f"?page={nonsense}")).status_code == 200

    def test_names_are_text(self, organizer: Client) -> None:
        defense, _ = handed({"<script>alert(1)</script>.py": b""})
        assert "<script>alert(1)" not in organizer.get(framework_address(defense)).content.decode()

    def test_without_a_source_the_page_says_so(self, organizer: Client) -> None:
        newcomer = cast.container()
        answer = organizer.get(framework_address(newcomer))
        assert "No source was handed in with this defense" in plain(answer)
        assert "source.zip" not in answer.content.decode()
        assert "No source was handed in" in words(organizer, source_address(newcomer), status=404)

    def test_a_source_that_the_store_lost_is_told(self, organizer: Client) -> None:
        lost = cast.container(source="0" * 64)
        said = f"The store has no defenses/{'0' * 64}.zip. Restore it from a backup of the store."
        answer = organizer.get(framework_address(lost))
        assert said in plain(answer) and "source.zip" not in answer.content.decode(), "nothing to save"
        assert said in words(organizer, source_address(lost), status=404)

    def test_a_store_that_cannot_be_read_is_told(self, organizer: Client) -> None:
        defense, _ = handed()
        store = picture_store()
        assert isinstance(store, FolderStore)
        path = store._path(source_key(defense.source))
        path.unlink()
        path.mkdir()  # reading a folder is an error of the disk, even to root
        said = "The source could not be read from the store now (IsADirectoryError). The server's log says why."
        assert said in words(organizer, framework_address(defense))
        assert said in words(organizer, source_address(defense), status=404)

    @pytest.mark.parametrize(
        "data", [b"", b"no zip at all", b"PK\x05\x06" + bytes(18)], ids=["nothing", "text", "void"]
    )
    def test_what_is_no_zip_any_more_is_told_and_can_still_be_saved(self, data: bytes, organizer: Client) -> None:
        defense = kept(data)
        page = words(organizer, framework_address(defense))
        assert "The source is " in page and "Earlier checks" in page
        assert b"".join(organizer.get(source_address(defense)).streaming_content) == data  # type: ignore[arg-type]

    def test_the_zip_is_saved_and_never_shown(self, organizer: Client) -> None:
        defense, data = handed()
        answer = organizer.get(source_address(defense))
        assert answer.streaming and b"".join(answer.streaming_content) == data  # type: ignore[arg-type]
        assert answer["Content-Type"] == "application/zip"
        assert answer["Content-Disposition"] == f'attachment; filename="source-{defense.public_id}.zip"'
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Length"] == str(len(data))
        assert "no-store" in answer["Cache-Control"]
        assert organizer.post(source_address(defense)).status_code == 405


class TestTheCheck:
    def test_an_answer_is_kept_and_shown_on_the_page_of_the_defense(
        self, organizer: Client, member: Client, rita: User
    ) -> None:
        defense, _ = handed()
        assert "Nobody has checked it yet." in words(member, framework_address(defense))
        form = {"outcome": "not-passed", "reason": " One compiled\r\nlibrary. "}
        done = member.post(framework_address(defense), form)
        assert (done.status_code, done["Location"]) == (303, f"{framework_address(defense)}#checks")
        assert "The check is on record: not passed." in words(member, framework_address(defense))
        check = FrameworkCheck.objects.get()
        assert (check.passed, check.reason, check.checked_by) == (False, "One compiled\nlibrary.", rita)
        page = words(organizer, page_address(defense))
        assert "Caffe or NumPy failed One compiled library." in page

    def test_the_newest_holds_and_all_stay_on_record(self, organizer: Client, member: Client) -> None:
        defense, _ = handed()
        for outcome, reason in (("not-passed", "A blob."), ("passed", "Readable <b>PyTorch</b>.")):
            member.post(framework_address(defense), {"outcome": outcome, "reason": reason})
        FrameworkCheck.objects.filter(passed=False).update(checked_by=None)
        page = words(organizer, framework_address(defense)).partition("Earlier checks")[2]
        newest, older = page.index("Readable <b>PyTorch</b>."), page.index("A blob.")
        assert newest < older and page.count("holds now") == 1
        assert page.index("rita") < newest < page.index("an account that is gone") < older
        assert "Caffe or NumPy passed Readable <b>PyTorch</b>." in words(organizer, page_address(defense))

    @pytest.mark.parametrize(
        ("form", "said"),
        [
            ({"reason": "kept <words>"}, "Choose whether it passed."),
            ({"outcome": "maybe", "reason": "kept <words>"}, "Choose whether it passed."),
            ({"outcome": "passed", "reason": " \x00\r\n "}, "Say why, in at most 4000 characters."),
            ({"outcome": "passed", "reason": "kept <words>" + "x" * 4000}, "Say why, in at most 4000 characters."),
        ],
    )
    def test_what_was_typed_stays_when_it_is_refused(self, form: dict[str, str], said: str, member: Client) -> None:
        defense, _ = handed()
        refused = member.post(framework_address(defense), form)
        page = refused.content.decode()
        assert (refused.status_code, FrameworkCheck.objects.count()) == (400, 0)
        assert f"Nothing was recorded. {said}" in plain(refused)
        assert ("kept &lt;words&gt;" in page) is ("kept" in form["reason"])
        assert ('value="passed" required checked' in page) is (form.get("outcome") == "passed")

    def test_as_many_characters_as_the_page_lets_type_are_taken(self, member: Client) -> None:
        """A browser counts the end of a line as one character and sends two."""
        defense = cast.container()
        form = {"outcome": "passed", "reason": ("x" * 9 + "\r\n") * 399 + "y" * 10}
        assert member.post(framework_address(defense), form).status_code == 303
        assert len(FrameworkCheck.objects.get().reason) == 4000

    def test_a_nul_is_left_out(self, member: Client) -> None:
        defense = cast.container()
        member.post(framework_address(defense), {"outcome": "passed", "reason": "NumPy\x00, readable"})
        assert FrameworkCheck.objects.get().reason == "NumPy, readable"


# The page of the defense ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said", "asks"),
    [
        ({}, "No trial was asked for yet.", True),
        ({"image": "", "reference": "always-abstain"}, "goes through no trials by itself", True),
        ({"retired_at": factories.NOW}, "No trial was asked for yet.", False),
    ],
    ids=["container", "shipped", "retired"],
)
def test_the_page_of_a_defense_with_nothing_there_yet(
    values: dict[str, Any], said: str, asks: bool, organizer: Client
) -> None:
    defense = cast.container(**values)
    answer = organizer.get(page_address(defense))
    assert answer.status_code == 200 and said in plain(answer)
    page = answer.content.decode()
    assert (f'href="{trial_address(defense)}"' in page) is asks
    assert f'href="{framework_address(defense)}"' in page


def test_a_check_of_a_shipped_defense_is_shown_too(organizer: Client, member: Client) -> None:
    defense = cast.container(image="", reference="always-abstain")
    assert "Caffe or NumPy" not in words(organizer, page_address(defense))
    member.post(framework_address(defense), {"outcome": "passed", "reason": "NumPy alone."})
    assert "Caffe or NumPy passed NumPy alone." in words(organizer, page_address(defense))


def test_nobody_else_is_shown_where_these_pages_are(client: Client) -> None:
    defense = cast.container(published_at=factories.NOW)
    page = client.get(page_address(defense)).content.decode()
    assert "/organizer/defenses/" not in page and "Framework" not in page


# Who may open --------------------------------------------------------------------------------------------------------

FORMS = {"trial": {"kind": "smoke"}, RETRY: {}}
OPENED = [("get", each) for each in FORMS] + [("post", each) for each in FORMS]


@pytest.mark.parametrize(("method", "part"), OPENED)
def test_only_organizers_enter(
    method: str, part: str, tara: Tasker, rita: User, stan: User, signed_in: Any, now: datetime
) -> None:
    defense, _ = handed()
    waits = dead(cast.container("Small net"))
    carl = factories.user("carl")
    Member.objects.create(team=Team.objects.create(name="red", created_at=now), user=carl)
    path = RETRY if part == RETRY else f"/organizer/defenses/{defense.public_id}/{part}/"
    form = FORMS.get(part, {})
    stranger = getattr(Client(), method)(path, form)
    assert (stranger.status_code, stranger["Location"][:25]) == (302, "/sign-in/?next=/organizer")
    assert getattr(signed_in(stan), method)(path, form).status_code == 404
    for known in (tara, rita, carl):
        refused = getattr(signed_in(known), method)(path, form)
        assert (refused.status_code, refused["Content-Type"]) == (403, "text/html; charset=utf-8")
    waits.refresh_from_db()
    assert (waits.state, Trial.objects.count()) == (RunState.DEAD, 1)


# Who asks, with which method -> what is answered at the source, the check and the list of checks.
_CHECK = {"outcome": "passed", "reason": "why"}
FRAMEWORK = [
    ("stranger", "get", 302, "signs in first"),
    ("stan", "get", 404, "an account without a role learns nothing is there"),
    ("tara", "get", 403, "a tasker"),
    ("carl", "get", 403, "a team"),
    ("rita", "get", 200, "the board reads the source"),
    ("olga", "get", 200, "and organizers may see it"),
    ("stranger", "post", 302, "signs in first"),
    ("stan", "post", 404, "an account without a role"),
    ("tara", "post", 403, "a tasker"),
    ("carl", "post", 403, "a team"),
    ("olga", "post", 403, "organizers decide nothing here (R31, 4)"),
    ("rita", "post", 303, "the board does"),
]


@pytest.mark.parametrize(("who", "method", "status", "why"), FRAMEWORK, ids=[f"{r[0]} {r[1]}" for r in FRAMEWORK])
def test_the_board_checks_a_framework_and_organizers_may_see(
    who: str, method: str, status: int, why: str, request: pytest.FixtureRequest, signed_in: Any, now: datetime
) -> None:
    defense, _ = handed()
    if who == "carl":
        user = factories.user("carl")
        Member.objects.create(team=Team.objects.create(name="red", created_at=now), user=user)
    elif who == "tara":
        user = request.getfixturevalue("tara")
    else:
        user = None if who == "stranger" else request.getfixturevalue(who)
    client = Client() if user is None else signed_in(user)
    paths = [framework_address(defense)]
    paths += [source_address(defense), "/board/frameworks/"] if method == "get" else []
    for path in paths:
        assert getattr(client, method)(path, _CHECK if method == "post" else {}).status_code == status, (path, why)
    assert FrameworkCheck.objects.exists() is (status == 303)


def test_the_form_is_shown_to_who_may_use_it(organizer: Client, member: Client) -> None:
    defense, _ = handed()
    assert "Record the check" in words(member, framework_address(defense))
    assert "Record the check" not in words(organizer, framework_address(defense))


def test_the_board_sees_what_waits_for_it_first(member: Client) -> None:
    checked, waits = cast.container("Checked net"), cast.container("Waiting net")
    cast.container("Out already", published_at=factories.NOW)
    member.post(framework_address(checked), _CHECK)
    page = words(member, "/board/frameworks/")
    assert page.index("Waiting net") < page.index("nobody has checked it") < page.index("Checked net")
    assert "Out already" not in page
    assert f'href="{framework_address(waits)}"' in member.get("/board/frameworks/").content.decode()


@pytest.mark.parametrize("part", ["trial/", "framework/", "source.zip"])
def test_no_such_defense(part: str, organizer: Client) -> None:
    assert "There is no defense with this ID." in words(organizer, f"/organizer/defenses/D-00000/{part}", status=404)


@pytest.mark.parametrize(("part", "who"), [("trial/", "olga"), ("framework/", "rita")])
def test_forms_are_guarded_against_other_sites(part: str, who: str, request: pytest.FixtureRequest) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(request.getfixturevalue(who))
    path = f"/organizer/defenses/{cast.container().public_id}/{part}"
    assert client.post(path, {"kind": "smoke", "outcome": "passed", "reason": "why"}).status_code == 403
    assert not Trial.objects.exists() and not FrameworkCheck.objects.exists()


def test_who_checks_a_framework_sees_what_looks_like_a_copy(organizer: Client, member: Client, now: datetime) -> None:
    defense, original = cast.container("copy"), cast.container("original", published_at=now)
    flags = {"layers": {"shared": 3, "of_theirs": 4}, "outputs": {"same": 19, "pictures": 20}}
    for likeness, figures in flags.items():
        CopyFlag.objects.create(defense=defense, original=original, likeness=likeness, figures=figures, found_at=now)
    assert "looks like original (layers, outputs)" in words(member, "/board/frameworks/")
    for client in (member, organizer):
        page = words(client, framework_address(defense))
        assert "3 of the other image's 4 layers are in this one" in page and "19 of 20 answers are the same" in page
    assert "Looks like another defense" not in words(member, framework_address(original))


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        (
            {"accepted": True, "pictures": 19, "rounds": 2, "answers": {"bird": 19}, "changed": 0},
            "accepted, 19 pictures, 2 rounds, the same in each round",
        ),
        (
            {"accepted": False, "pictures": 1, "rounds": 2, "changed": 1},
            "not accepted, 1 picture, 2 rounds, 1 answered differently in another round",
        ),
        ({"accepted": False, "pictures": 40, "rounds": 1, "changed": 0}, "not accepted, 40 pictures, 1 round"),
        (
            {"accepted": False, "pictures": 40, "rounds": 0, "changed": 0},
            "not accepted, 40 pictures, no round finished",
        ),
        (
            {"pictures": 1200, "right": 1100, "wrong": 0, "abstained": 99, "faults": 1},
            "1,200 pictures, 1,100 right, 0 wrong, 99 abstained, 1 fault",
        ),
        ({"rows": 16, "milliseconds": 0, "device": "cpu"}, "16 answers timed, in less than 0.1 s, on cpu"),
        ({"milliseconds": 65_400, "pictures_per_minute": 15}, "in 65.4 s, 15 pictures a minute"),
        ({"shown": True, "fault": "crashed"}, "differences for the board to look at, fault crashed"),
    ],
)
def test_totals_are_told_in_words(totals: dict[str, Any], words: str) -> None:
    assert in_words(totals) == words
