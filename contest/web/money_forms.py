"""Form fields for amounts of money."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from common.web.forms import Form
from contest.ledger.amounts import cents_of

_WRONG = "Write the sum like 1234.50."


class SumField(forms.Field):
    """A sum, in cents."""

    def __init__(self, label: str = "Sum") -> None:
        widget = forms.TextInput({"inputmode": "decimal", "autocomplete": "off", "placeholder": "1234.50"})
        super().__init__(label=label, widget=widget, error_messages={"required": _WRONG})

    def to_python(self, value: Any) -> int | None:
        """Return cents; ValidationError for what is no sum."""
        cents = cents_of(str(value or "")[:30])
        if value and cents is None:
            raise ValidationError(_WRONG, "invalid")
        return cents


class MoneyForm(Form):
    """A form whose sums are in the contest's `currency`."""

    names = {"cents": "sum"}

    def __init__(self, *arguments: Any, currency: str, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for field in self.fields.values():
            if isinstance(field, SumField):
                field.label = f"{field.label} in {currency}"
