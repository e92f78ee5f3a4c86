"""The pages of a list: rows are counted up to a bound, and those behind it are reached all the same."""

import pytest
from django.core.paginator import EmptyPage
from django.test import RequestFactory

from common.web import lists
from common.web.lists import ListPages, page_of
from labeling.models import Image
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _few_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MOST_COUNTED", 4)


def pages(rows: int, size: int = 2) -> ListPages:
    for _ in range(rows):
        factories.image()
    return ListPages(Image.objects.order_by("pk"), size)


@pytest.mark.parametrize(
    ("rows", "text", "of_pages", "why"),
    [
        (0, "0", "1", "nothing is counted exactly"),
        (4, "4", "2", "as many as are counted"),
        (5, "more than 4", "more than 2", "one more is not counted"),
    ],
)
def test_how_many_there_are_is_said_as_far_as_it_is_known(rows: int, text: str, of_pages: str, why: str) -> None:
    found = pages(rows)
    assert (found.rows_text, found.page(1).pages_text) == (text, of_pages), why


def test_behind_the_counted_pages_the_number_of_pages_grows_with_the_page() -> None:
    found = pages(9)
    assert [found.page(number).pages_text for number in (2, 3, 5)] == ["more than 2", "more than 3", "5"]


def test_every_row_is_reached_by_going_on() -> None:
    found, number, seen = pages(9), 1, []
    while True:
        page = found.page(number)
        seen += [image.pk for image in page]
        assert page.end_index() == len(seen)
        if not page.has_next():
            break
        number = page.next_page_number()
    assert number == 5 and seen == list(Image.objects.order_by("pk").values_list("pk", flat=True))


@pytest.mark.parametrize(("asked", "number"), [("4", 4), ("5", 5), ("6", 2), ("-1", 2), ("0", 2), ("x", 1), ("", 1)])
def test_the_nearest_page_is_given_for_one_that_is_not_there(asked: str, number: int, rf: RequestFactory) -> None:
    found = pages(9)
    page = page_of(rf.get("/", {"page": asked}), found.object_list, 2)
    assert page.number == number


def test_a_list_in_memory_is_counted_whole() -> None:
    found = ListPages(range(9), 2)
    assert (found.rows_text, found.page(5).pages_text, found.page(5).has_next()) == ("9", "5", False)
    with pytest.raises(EmptyPage):
        found.page(6)
