"""Names, identifiers of papers, and inboxes: the pure parts."""

from datetime import date

import pytest

from contest.teams.arxiv import ARCHIVES, paper_id
from contest.teams.inboxes import inbox
from contest.teams.names import problem, tidy

TODAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("typed", "found", "why"),
    [
        ("1809.08352", "1809.08352", "the new form, five digits"),
        ("0704.0001", "0704.0001", "the first month of the new form"),
        ("1412.9999", "1412.9999", "the last month of four digits"),
        ("1501.00001", "1501.00001", "the first month of five digits"),
        ("2611.12345", "2611.12345", "this month"),
        (" 1809.08352v3 ", "1809.08352", "the version is dropped"),
        ("arXiv:1809.08352v12", "1809.08352", "as papers cite it"),
        ("https://arxiv.org/abs/1809.08352v2", "1809.08352", "the page"),
        ("http://www.arxiv.org/pdf/1809.08352v2.pdf", "1809.08352", "the file"),
        ("export.arxiv.org/abs/hep-th/9901001", "hep-th/9901001", "a mirror, the old form"),
        ("hep-th/9901001v1", "hep-th/9901001", "the old form, its version dropped"),
        ("math.GT/0309136", "math/0309136", "the subject class is dropped"),
        ("HEP-TH/9901001", "hep-th/9901001", "one way of writing"),
        ("cs/0703155", "cs/0703155", "the last month of the old form"),
        ("hep-th/9108001", "hep-th/9108001", "the first year"),
        ("", None, "nothing"),
        ("1809.0835", None, "five digits since 2015"),
        ("1412.12345", None, "four digits before 2015"),
        ("0703.0001", None, "the new form began in April 2007"),
        ("cs/0704155", None, "the old form had ended"),
        ("hep-th/9012001", None, "before arXiv"),
        ("2612.00001", None, "next month"),
        ("1813.00001", None, "no such month"),
        ("1800.00001", None, "no such month"),
        ("1809.00000", None, "numbers begin at 1"),
        ("hep-th/9901000", None, "numbers begin at 1"),
        ("1809.08352v0", None, "versions begin at 1"),
        ("1809.08352x", None, "something behind"),
        ("1809.083521", None, "too many digits"),
        ("birds/9901001", None, "no such archive"),
        ("١٨٠٩.٠٨٣٥٢", None, "digits of another script"),
        ("https://example.org/abs/1809.08352", None, "another site"),
    ],
)
def test_both_forms_of_identifiers(typed: str, found: str | None, why: str) -> None:
    assert paper_id(typed, today=TODAY) == found, why


def test_each_archive_is_known() -> None:
    assert all(paper_id(f"{name}/9901001", today=TODAY) == f"{name}/9901001" for name in ARCHIVES)


@pytest.mark.parametrize(
    ("one", "other", "same", "why"),
    [
        ("a.b@gmail.com", "ab@gmail.com", True, "dots"),
        ("ab+contest@gmail.com", "AB@googlemail.com", True, "plus, case, two names of one provider"),
        ("a.b@proton.me", "a_b@protonmail.com", True, "dots and underscores"),
        ("ab+1@outlook.com", "ab@outlook.com", True, "plus"),
        ("a.b@outlook.com", "ab@outlook.com", False, "dots count there"),
        ("ab@outlook.com", "ab@hotmail.com", False, "two providers"),
        ("ab@me.com", "ab+x@icloud.com", True, "two names of one provider"),
        ("a.b@uni.example", "ab@uni.example", False, "nobody knows what others ignore"),
        ("a+b@uni.example", "a@uni.example", False, "nobody knows what others ignore"),
        ("Ab@uni.example", "ab@uni.example", True, "case"),
    ],
)
def test_which_addresses_lead_to_one_inbox(one: str, other: str, same: bool, why: str) -> None:
    assert (inbox(one) == inbox(other)) is same, why


@pytest.mark.parametrize(
    ("typed", "good", "why"),
    [
        ("red", True, "plain"),
        ("Team 7", True, "blanks and digits"),
        ("A&M Lab's R.E.D_1-2+", True, "every mark that is allowed"),
        ("x" * 40, True, "the longest"),
        ("x" * 41, False, "too long"),
        ("x", False, "too short"),
        ("", False, "nothing"),
        (" -red", False, "begins with a mark"),
        ("réd", False, "letters that pass for others"),
        ("rеd", False, "a Cyrillic letter that looks like e"),
        ("red\x00", False, "a control character"),
        ("red/blue", False, "no address"),
        ("Organizers", False, "the contest's own"),
        ("the  Contest", False, "the contest's own, in other blanks"),
    ],
)
def test_what_a_team_may_be_called(typed: str, good: bool, why: str) -> None:
    assert (problem(tidy(typed)) == "") is good, why
