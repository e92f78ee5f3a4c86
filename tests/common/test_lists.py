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
    monkeypatch.setattr(lists, "MAX_COUNTED", 4)


def pages(rows: int, size: int = 2) -> ListPages:
    for _ in range(rows):
        factories.image()
    return ListPages(Image.objects.order_by("pk"), size)


@pytest.mark.parametrize(
    ("rows", "counted", "more", "why"),
    [
        (0, 0, False, "nothing is counted exactly"),
        (4, 4, False, "as many as are counted"),
        (5, 4, True, "one more is not counted"),
    ],
)
def test_rows_are_counted_up_to_a_bound(rows: int, counted: int, more: bool, why: str) -> None:
    found = pages(rows)
    assert (found.count, found.has_more) == (counted, more), why


@pytest.mark.parametrize(
    ("size", "known", "why"),
    [
        (2, ["more than 2", "more than 2", "more than 3", "more than 4", "5"], "the last page says how many there are"),
        (3, ["more than 1", "more than 2", "3"], "a page that is counted in part is none of those known"),
        (9, ["1"], "all rows are on one page"),
    ],
)
def test_the_number_of_known_pages_grows_with_the_page(size: int, known: list[str], why: str) -> None:
    found = pages(9, size)
    shown = [found.page(number) for number in range(1, len(known) + 1)]
    assert [f"{'more than ' if page.has_more_pages else ''}{page.known_pages}" for page in shown] == known, why


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
    assert (found.count, found.has_more, found.page(5).known_pages, found.page(5).has_next()) == (9, False, 5, False)
    with pytest.raises(EmptyPage):
        found.page(6)
