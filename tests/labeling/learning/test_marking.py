"""Marking (R5, R6): a table of answers to one picture, with the reason for each mark."""

import pytest

from labeling.enums import Answer
from labeling.marking import Known, Said, mark

YES, NO, MAYBE = Answer.DEFINITELY_YES, Answer.DEFINITELY_NO, Answer.UNSURE_YES
BIRD = Known({YES}, {NO}, True, 70, True, False, True)


QUESTIONS = ["contains_bird", "contains_bicycle", "outline", "complete", "unoccluded", "real"]
NEITHER = Known({NO}, {NO}, False, 70, None, None, None)
UNSURE = Known({Answer.UNSURE_YES, Answer.UNSURE_NO}, {NO}, False, 70, None, None, None)
MARKED = [
    (BIRD, Said(YES, NO, 70.0, True, False, True), set(), "everything right; the overlap is just enough"),
    (BIRD, Said(YES, NO, 69.999, True, False, True), {"outline"}, "just too little overlap"),
    (BIRD, Said(YES, NO, None, True, False, True), {"outline"}, "said that it cannot be outlined"),
    (BIRD, Said(MAYBE, NO, 90.0, True, False, True), {"contains_bird"}, "unsure where nobody doubts"),
    (BIRD, Said(YES, NO, 90.0, True, True, True), {"unoccluded"}, "missed what is in front"),
    (
        BIRD,
        Said(YES, YES, None, None, None, None),
        {"contains_bicycle", "outline", "complete", "unoccluded", "real"},
        "questions 3 and 4 were not asked, because of a wrong answer",
    ),
    (BIRD, Said(YES, NO, 90.0, None, False, True), {"complete"}, "a missing statement is not true by itself (R12)"),
    (NEITHER, Said(NO, NO, None, None, None, None), set(), "nothing to outline"),
    (NEITHER, Said(YES, NO, None, True, True, True), {"contains_bird"}, "what follows a wrong answer is not marked"),
    (UNSURE, Said(Answer.UNSURE_NO, NO, None, None, None, None), set(), "one of several right answers"),
    (UNSURE, Said(YES, NO, None, True, True, True), {"contains_bird"}, "sure where nobody can be"),
]


@pytest.mark.parametrize(("known", "said", "wrong", "reason"), MARKED, ids=[row[3] for row in MARKED])
def test_marks(known: Known, said: Said, wrong: set[str], reason: str) -> None:
    """In the order of the form."""
    marks = mark(said, known)
    assert {name for name, right in marks.questions.items() if not right} == wrong
    assert marks.right is (not wrong)
    assert list(marks.questions) == QUESTIONS[: 6 if known.outline else 2]
