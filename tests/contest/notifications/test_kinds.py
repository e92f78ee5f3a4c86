"""Every kind of message says what it has to, as text and as HTML; and how its text is taken apart for a page."""

import copy
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.core.mail import EmailMultiAlternatives

from contest.core.enums import MessageKind as K
from contest.core.models import Team
from contest.outbox.kinds import GROUPS, KINDS, kinds_of
from contest.outbox.letters import mail_of
from contest.outbox.models import Message
from contest.outbox.text import COLOURS, SHAPES, TextPart, paragraphs
from contest.outbox.writing import notify
from tests import factories
from tests.contest.notifications.cast import team
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
HOST = "http://localhost:8000"
_RECEIPT = {
    "id": "A-7Q4M2K9X",
    "file_name": "heron.png",
    "sha256": "ab" * 32,
    "targets": ["net one"],
    "against_all": "",
    "warnings": ["JPEG: decoding is what counts."],
    "link": f"{HOST}/attacks/A-7Q4M2K9X/",
}
_PAGES = {"page": f"{HOST}/defenses/D-1/", "own": f"{HOST}/team/defenses/D-1/"}
_VERDICT = {"receipt": "A-7Q4M2K9X", "file_name": "heron.png", "link": f"{HOST}/attacks/A-7Q4M2K9X/"}
_VALID = {**_VERDICT, "valid": True, "words": "a bird", "until": ""}
_REJECTED = {**_VERDICT, "valid": False, "words": "a tasker was not sure", "until": "Tue 1 Dec 2026 12:00 UTC"}
_BROKE = {"defense": "net one", "receipt": "A-7Q4M2K9X", "link": f"{HOST}/attacks/A-7Q4M2K9X/"}
_BY = {"week": "2026-W47", "team": "red", "receipt": "A-7Q4M2K9X", "link": f"{HOST}/attacks/A-7Q4M2K9X/"}
_PICTURE = {"words": "a bird", "picture": "P-00000001", "link": "", "until": "Tue 1 Dec 2026 12:00 UTC"}
_CLOSES = {
    "sent": False,
    "until": "Tue 1 Dec 2026 12:00 UTC",
    "picture": "P-00000001",
    "receipt": "",
    "label": "bird",
    "link": f"{HOST}/appeals/new/P-00000001/",
}
_STEP = {"kind": "question", "words": "Which author?"}
_PAPER = {"kind": "paper", "arxiv_id": "1809.08352", "team": {"name": "red"}}
_GRANT = {"kind": "grant", "arxiv_id": "", "team": {"name": "red"}}
_STAKE: dict[str, Any] = {
    "defense": "net one", "end": "broken", "why": "", "begun": True, "paid": False, "amount": "USD 1,000.00",
    "at": "Mon 23 Nov 2026 12:00:00 UTC", "week": "2026-W47", "more": 2, "told_with": "2026-W46", "reason": "",
    "by": [{"team": "red", "receipt": "A-7Q4M2K9X", "link": f"{HOST}/attacks/A-7Q4M2K9X/"}], **_PAGES,
}  # fmt: skip
# kind, facts, words of its text. Kinds with several texts have several rows.
SAMPLES: list[tuple[K, dict[str, Any], list[str]]] = [
    (
        K.ATTACK_RECEIVED,
        {
            "username": "carl", "team": "red", "count": 1, "received_at": "Wed 18 Nov 2026 12:00:00 UTC",
            "week": "2026-W47", "ends_at": "Sat 21 Nov 2026 00:00:00 UTC", "left": 9, "receipts": [_RECEIPT],
        },
        ["Receipt A-7Q4M2K9X for your picture", "Left of your team's quota for this day: 9"],
    ),
    (
        K.ATTACK_WITHDRAWN,
        {"username": "carl", "team": "red", "by": "rosa", "own": False, "withdrawn_at": "now", "receipt": _RECEIPT},
        ["Receipt A-7Q4M2K9X is withdrawn", "rosa took a picture of team red back"],
    ),
    (
        K.ATTACK_VERDICTS,
        {"week": "2026-W47", "rows": [_VALID, _REJECTED], "more": 3},
        ["Verdicts on pictures of team red", "✓ valid: a bird", "✕ rejected: a tasker was not sure", "And 3 more"],
    ),
    (
        K.ATTACK_VERDICTS,
        {"week": "2026-W47", "rows": [_REJECTED], "more": 0},
        ["A verdict on a picture of team red", "can appeal, with a reason, before Tue 1 Dec 2026 12:00 UTC"],
    ),
    (K.ATTACK_BROKE, {"week": "2026-W47", "rows": [_BROKE], "more": 0}, ["Team red broke net one", "⚡ broke net one"]),
    (K.ATTACK_BROKE, {"week": "2026-W47", "rows": [_BROKE], "more": 1}, ["Pictures of team red broke defenses"]),
    (
        K.NOT_ELIGIBLE,
        {
            "defense": "net one", "next_step": "Hand in a new version.", **_PAGES,
            "failed": [{"title": "Enough right", "words": "5 of 10 right.", "advice": "Let it abstain."}],
        },
        ["net one is not eligible", "✕ rejected: Enough right\n5 of 10 right.\nLet it abstain.", "D-1"],
    ),
    (
        K.PUBLISHED,
        {"defense": "net one", "at": "now", "price": "USD 1,000.00", **_PAGES},
        ["net one is published", "for USD 1,000.00"],
    ),
    (
        K.STAKED,
        {
            "defense": "net one", "paid": False, "amount": "USD 1,000.00", "at": "now", "until": "later",
            "batch": "S-1", "criteria": "reproducible", **_PAGES,
        },
        ["net one is at stake", "Batch S-1, by these criteria:\nreproducible"],
    ),
    (
        K.DEFENSE_BROKEN,
        {"defense": "net one", "rows": [_BY], "more": 0, "own": "x"},
        ["What broke net one", "By team red, receipt A-7Q4M2K9X"],
    ),
    (K.STAKE_CHANGED, _STAKE, ["net one was broken", "team red, receipt A-7Q4M2K9X", "and 2 more pictures"]),
    (K.STAKE_CHANGED, _STAKE | {"end": "", "by": []}, ["net one is at stake again"]),
    (K.STAKE_CHANGED, _STAKE | {"end": "won", "why": "board", "reason": "Unbroken."}, ["net one won", "Unbroken."]),
    (
        K.POSTED,
        {
            "amount": "USD 1.00", "corrected": False, "balance": "USD 2.00", "page": f"{HOST}/team/money/",
            "lines": [{"amount": "USD 1.00", "rule": "R35", "why": "A share.", "reason": ""}],
        },
        ["Posted for team red: USD 1.00", "USD 1.00 by rule R35\nA share."],
    ),
    (
        K.PAID,
        {"amount": "USD 1.00", "reference": "wire 7", "at": "now", "balance": "USD 0.00", "page": "x"},
        ["USD 1.00 were paid to team red", "Reference of the bank: wire 7"],
    ),
    (
        K.TEAM_NEWS,
        {"what": "left", "who": "rosa", "not_entitled": True, "team": {"name": "red"}},
        ["rosa left team red", "may not attack any more"],
    ),
    (
        K.TEAM_NEWS,
        {"what": "merged", "team": {"name": "red"}, "into": {"name": "blue"}, "reason": "One lab."},
        ["Team blue is your team now", "One lab."],
    ),
    (
        K.ASSOCIATION,
        {"since": "yesterday", "until": "", "reason": "An organizer's lab.", "mistake": False},
        ["Team red is marked as associated", "An organizer's lab."],
    ),
    (
        K.ENTITLEMENT,
        {"step": _STEP, "entitlement": _PAPER, "still_entitled": False, "attacks": f"{HOST}/attacks/"},
        ["The organizers ask team red something", "Which author?"],
    ),
    (
        K.ENTITLEMENT,
        {"step": {"kind": "accepted", "words": "A lab."}, "entitlement": _GRANT, "still_entitled": True, "attacks": ""},
        ["Team red may attack", "the review board granted it"],
    ),
    (
        K.QUESTION_WAITING,
        {"paper": "1809.08352", "asked_at": "Mon 16 Nov 2026 12:00 UTC", "question": "Which author?"},
        ["The organizers wait for an answer of team red", "Which author?"],
    ),
    (
        K.PICTURES_VALID,
        {"defenses": ["net one"], "rows": [_PICTURE], "more": 0, "last_day": "Tue 1 Dec 2026 12:00 UTC"},
        ["A picture can break your defense", "Picture P-00000001, appeals before Tue 1 Dec 2026 12:00 UTC"],
    ),
    (
        K.PICTURES_VALID,
        {"defenses": ["net one", "net two"], "rows": [_PICTURE], "more": 4, "last_day": "Tue 1 Dec 2026 12:00 UTC"},
        ["5 pictures can break your defenses", "(net one, net two)", "And 4 more."],
    ),
    (
        K.APPEALS_CLOSING,
        {"rows": [_CLOSES, _CLOSES | {"sent": True, "receipt": "A-7Q4M2K9X"}], "more": 0, "first": "soon"},
        ["Appeals close soon", "○ until Tue 1 Dec 2026 12:00 UTC", "P-00000001, receipt A-7Q4M2K9X, was rejected"],
    ),
    (
        K.APPEAL_RECEIVED,
        {"appeal": "L-1", "case": "C-1", "picture": "P-1", "side": "defender", "answer_until": "Friday"},
        [
            "Receipt L-1 for your appeal",
            "valid verdict on picture P-1",
            "may answer until the board decides. The board has until Friday",
        ],
    ),
    (
        K.APPEAL_RECEIVED,
        {"appeal": "L-1", "case": "C-1", "picture": "P-1", "side": "attacker", "answer_until": ""},
        ["rejection of picture P-1", "The board votes on it."],
    ),
    (
        K.APPEAL_AGAINST,
        {"appeal": "L-1", "case": "C-1", "picture": "P-1", "side": "defender", "until": "Friday"},
        [
            "a defender says that picture P-1, which was ruled valid, is ambiguous",
            "may answer, once, until the board decides. It has until Friday",
        ],
    ),
    (
        K.APPEAL_AGAINST,
        {"appeal": "L-1", "case": "C-1", "picture": "P-1", "side": "attacker", "until": "Friday"},
        ["an attacker says that picture P-1 was wrongly rejected"],
    ),
    (K.CASE_OPENED, {"case": "C-1", "what": "an appeal", "due": "Friday"}, ["Case C-1 was opened", "before Friday"]),
    (K.CASE_DUE, {"case": "C-1", "what": "an appeal", "due": "Fri 20 Nov"}, ["Case C-1 is due Fri 20 Nov"]),
    (
        K.CASE_DUE,
        {"case": "C-1", "what": "an appeal", "due": "Fri 20 Nov", "reminder": "vote"},
        ["Case C-1 waits for your vote", "as you have not voted", "○ due Fri 20 Nov"],
    ),
    (
        K.CASE_DUE,
        {"case": "C-1", "what": "an appeal", "due": "Fri 20 Nov", "reminder": "confirm"},
        ["Case C-1 waits for its count to be confirmed", "one of you is to confirm the count"],
    ),
    (
        K.CASE_NO_QUORUM,
        {"case": "C-1", "what": "an appeal", "needed": 2, "left": 1},
        ["Case C-1 has no quorum", "votes of 2 members", "1 is left"],
    ),
    (
        K.CASE_DECIDED,
        {"case": "C-1", "what": "an appeal", "outcome": "the ruling is upheld", "decided_at": "", "explanation": "So."},
        ["Case C-1 is decided", "about an appeal: the ruling is upheld.", "The board explains: So."],
    ),
    (
        K.RULING_CHANGED,
        {
            "picture": "P-1", "was": "valid as a bird", "holds": "rejected: a tasker was not sure",
            "why": "The board overruled it.", "followed": "It breaks no defense any more.",
        },
        ["The ruling on picture P-1 changed", "✕ rejected: a tasker was not sure", "It breaks no defense any more."],
    ),
    (
        K.RULING_CHANGED,
        {"picture": "P-1", "was": "rejected", "holds": "valid, a bird", "why": "", "followed": ""},
        ["From now on this holds:\n\n✓ valid, a bird\n\nWhat becomes"],
    ),
    (
        K.REQUEST,
        {"step": {"kind": "asked", "words": ""}, "entitlement": _PAPER},
        ["Team red asks to attack", "names the paper arXiv 1809.08352"],
    ),
    (
        K.PANELS_STUCK,
        {
            "count": "2 pictures", "why": "6 accounts count as 2 people", "advice": "Invite 1 more tasker.", "more": 1,
            "rows": [{"picture": "P-00000001", "places": 1, "people": 0}], "covered": [1, 2],
        },
        ["Nobody left may finish 2 pictures", "6 accounts count as 2 people", "Invite 1 more tasker.",
         "P-00000001: 1 missing, 0 may be asked", "And 1 more."],
    ),
    (K.RELEASE_FAILED, {"week": "2026-W47", "at": "now", "error": "OSError: full"}, ["✕ failed", "OSError: full"]),
    (K.LETTERS_GIVEN_UP, {"count": 2, "error": "refused"}, ["2 letters could not be sent", "refused"]),
]  # fmt: skip
OPEN = "UNRESOLVED"


@pytest.fixture
def strict(settings: Any) -> None:
    """A variable that a text asks for and nobody gives is written out."""
    changed = copy.deepcopy(settings.TEMPLATES)
    changed[0]["OPTIONS"]["string_if_invalid"] = OPEN + "%s"
    settings.TEMPLATES = changed


@pytest.fixture
def red() -> Team:
    factories.policy_version()
    return team("red", "carl")


def mail(red: Team, kind: K, facts: dict[str, Any]) -> EmailMultiAlternatives:
    assert notify(red, kind, about="/team/", now=factories.NOW, **facts) == 1
    made = mail_of(Message.objects.get())
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("kind", "facts", "words"), SAMPLES, ids=[f"{kind}-{number}" for number, (kind, *_) in enumerate(SAMPLES)]
)
def test_a_message_says_all_it_should_as_text_and_as_html(
    kind: K, facts: dict[str, Any], words: list[str], red: Team, strict: None
) -> None:
    made = mail(red, kind, facts)
    said = f"{made.subject}\n{made.body}"
    ((html, kind_of_part),) = made.alternatives
    assert lacking(said, *words, OPEN, "{{", "None") == [OPEN, "{{", "None"] and "\n" not in made.subject
    assert not re.search(r"\n{4,}| ,| \.(?:\s|$)", said), "a gap"
    assert lacking(unescape(str(html)), made.subject, f'href="{HOST}/messages/settings/"', OPEN) == [OPEN]
    assert kind_of_part == "text/html"
    assert made.body.rstrip().endswith(f"How often you get e-mails: {HOST}/messages/settings/")


def test_every_kind_has_a_sample_a_group_and_its_facts() -> None:
    assert {kind for kind, *_ in SAMPLES} == set(K) == set(KINDS)
    assert {kind for group in GROUPS for kind in kinds_of(group)} == set(K)
    assert [(kind, name) for kind, facts, _ in SAMPLES for name in KINDS[kind].facts if name not in facts] == []


def test_a_fact_that_is_missing_is_refused(red: Team) -> None:
    for kind, facts, _ in SAMPLES:
        with pytest.raises(TypeError, match=f"lacks {(name := KINDS[kind].facts[-1])}"):
            notify(red, kind, about="/", now=factories.NOW, **{key: facts[key] for key in facts if key != name})
    assert not Message.objects.exists()


@pytest.mark.parametrize("kind", [K.ATTACK_VERDICTS, K.RELEASE_FAILED])
def test_html_loads_nothing_runs_nothing_and_shows_states_as_the_pages_do(kind: K, red: Team) -> None:
    facts = next(facts for name, facts, _ in SAMPLES if name == kind)
    ((html, _),) = mail(red, kind, facts).alternatives
    forbidden = ["<script", "<img", "<link", "url(", "@import", "<iframe", "src="]
    assert lacking(str(html), *forbidden) == forbidden
    assert all(each.startswith(HOST) for each in re.findall(r'href="([^"]+)"', str(html)))
    for look in ("valid", "rejected") if kind == K.ATTACK_VERDICTS else ():
        assert re.search(rf'color:{COLOURS[look]}"><span[^>]*>{SHAPES[look]}[^<]*</span> {look}</strong>', str(html))


def test_words_of_others_are_words_in_html(red: Team) -> None:
    facts = {"paper": "1809.08352", "asked_at": "now", "question": '<script>x</script> https://evil.example/ "q"'}
    ((html, _),) = mail(red, K.QUESTION_WAITING, facts).alternatives
    absent = ["<script", 'href="https://evil']
    assert lacking(str(html), "&lt;script&gt;", *absent) == absent, "a stranger's address leads nowhere"


def test_letters_have_the_colours_and_shapes_of_the_pages() -> None:
    css = Path(site.BASE_DIR, "static/css/shared")
    light = (css / "variables.css").read_text().partition("@media")[0]
    assert not lacking(light, *(f"--{look}: {colour};" for look, colour in COLOURS.items()))
    shapes = re.findall(r'\.state-(\w+)::before { content: "(.)', (css / "base.css").read_text())
    assert {look: shape for look, shape in shapes if look in COLOURS} == {look: SHAPES[look] for look in COLOURS}


SITE = "https://unanimous.example"
TEXTS: list[tuple[str, list[list[list[TextPart]]], str]] = [
    ("", [], "nothing"),
    ("a\nb\n\n\nc\n", [[[TextPart("a")], [TextPart("b")]], [[TextPart("c")]]], "paragraphs and lines"),
    (
        f"See {SITE}/x/.",
        [[[TextPart("See "), TextPart(f"{SITE}/x/", href=f"{SITE}/x/"), TextPart(".")]]],
        "a full stop is no part of a link",
    ),
    (f"{SITE}.evil.example/x", [[[TextPart(f"{SITE}.evil.example/x")]]], "another site with our name in front"),
    ("https://evil.example/", [[[TextPart("https://evil.example/")]]], "another site"),
    ("✓ valid: a bird", [[[TextPart("valid", look="valid"), TextPart(": a bird")]]], "a state with words behind it"),
    ("⚡ broke net: one", [[[TextPart("broke net", look="broken"), TextPart(": one")]]], "up to the colon"),
    ("○ until Tue 12:00 UTC", [[[TextPart("until Tue 12:00 UTC", look="open")]]], "a colon in a time is none"),
    ("so ✓ valid", [[[TextPart("so ✓ valid")]]], "in the middle of a line it is a word"),
    ("✓", [[[TextPart("✓")]]], "a shape alone"),
]


@pytest.mark.parametrize(("text", "expected", "why"), TEXTS, ids=[row[2] for row in TEXTS])
def test_a_text_is_taken_apart(text: str, expected: list[list[list[TextPart]]], why: str) -> None:
    assert paragraphs(text, SITE) == expected, why


def test_nothing_is_lost() -> None:
    text = f"Hello,\n\n✕ rejected: x {SITE}/a/ y {SITE}/b/, z\n{SITE}/c/"
    joined = "\n\n".join(
        "\n".join("".join(f"{each.shape} {each.words}" if each.look else each.words for each in line) for line in block)
        for block in paragraphs(text, SITE)
    )
    assert joined == text
