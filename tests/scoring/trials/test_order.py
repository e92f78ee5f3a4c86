"""The order of a trial: repeatable for whoever has the secret, and without a trace of classes or seeds for others."""

import pytest

from scoring.enums import TrialKind
from scoring.trials.order import Order

NAMES = [f"{number:064x}" for number in range(200)]
ORDER = Order("the secret", TrialKind.PRIVATE, 7, 1)


def of(order: Order) -> list[str]:
    return order.of(NAMES, str)


def test_the_same_trial_has_the_same_order_whatever_came_first() -> None:
    again = Order("the secret", TrialKind.PRIVATE, 7, 1)
    assert again.of(NAMES[::-1], str) == of(ORDER) != NAMES
    assert sorted(of(ORDER)) == NAMES


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Order("another", TrialKind.PRIVATE, 7, 1), "another installation"),
        (Order("the secret", TrialKind.EARLIER, 7, 1), "another kind"),
        (Order("the secret", TrialKind.PRIVATE, 8, 1), "another defense"),
        (Order("the secret", TrialKind.PRIVATE, 7, 2), "the next trial"),
        (Order("the secret", TrialKind.PRIVATE, 71, 1), "numbers do not run together"),
    ],
)
def test_another_trial_has_another_order(other: Order, why: str) -> None:
    places = {name: place for place, name in enumerate(of(other))}
    same = sum(places[name] == place for place, name in enumerate(of(ORDER)))
    assert same < 10, why


def test_no_beginning_has_much_more_of_what_was_imported_first() -> None:
    first = set(NAMES[:100])
    for number in range(20):
        more = 0
        for name in Order("the secret", TrialKind.PRIVATE, 7, number).of(NAMES, str):
            more += 1 if name in first else -1
            assert abs(more) < 60  # four times the spread of 200 tosses of a coin
        assert more == 0


def test_the_secret_is_not_written_anywhere() -> None:
    assert "the secret" not in repr(ORDER)
