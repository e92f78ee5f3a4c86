"""The base of all forms: one template for a field, and errors of services beside the field they are about."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from django import forms
from django.core.exceptions import ValidationError
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest

from common.errors import DomainError
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import errors_of


class FormRenderer(TemplatesSetting):
    """Renders each field with its label, help and errors by one template."""

    field_template_name = "forms/field.html"


class TextField(forms.CharField):
    """Text of at most `most` characters; with `rows`, in a text area of this height.

    The server does not validate it here: the service says what is missing or too long, for pages and programs alike.
    """

    def __init__(self, label: Any, *, most: int, rows: int = 0, required: bool = True, **attributes: Any) -> None:
        shown = {"maxlength": most, "autocomplete": "off", **attributes}
        if required:
            shown["required"] = True
        widget = forms.Textarea({"rows": rows, "cols": None, **shown}) if rows else forms.TextInput(shown)
        super().__init__(label=label, required=False, widget=widget)
        self._most = most

    def to_python(self, value: Any) -> str:
        """Return the text without surrounding white space and NUL characters."""
        return str(value or "").replace("\x00", "").strip()[: self._most + 1]


class WholeNumberField(forms.Field):
    """A whole number without a sign; `error` says what to write."""

    def __init__(self, label: str, *, error: str) -> None:
        widget = forms.TextInput({"inputmode": "numeric", "autocomplete": "off", "maxlength": 18})
        super().__init__(label=label, widget=widget, error_messages={"required": error, "invalid": error})

    def to_python(self, value: Any) -> int | None:
        """Return the number; ValidationError for anything else."""
        typed = str(value or "").strip()
        number = whole_number(typed)
        if typed and number is None:
            raise ValidationError(self.error_messages["invalid"], "invalid")
        return number


class Form(forms.Form):
    """A form whose `save` calls a service. `refused` is the error that the service raised.

    `names` maps the service's name of an input to the form's, where they differ.
    """

    names: ClassVar[Mapping[str, str]] = {}
    # Does what the form is for with `cleaned_data`; raises DomainError where that is refused.
    save: Callable[..., Any]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{"auto_id": "%s", "label_suffix": "", **named})
        self.refused: DomainError | None = None

    @classmethod
    def of(cls, request: HttpRequest, /, *, action: str = "", **named: Any) -> Self:
        """Return the form as it was sent, or an empty one. On a page with several forms `action` is the value of this
        one's button."""
        sent = request.method == "POST" and request.POST.get("action", "") == action
        return cls(request.POST if sent else None, **named)

    def submit(self, **context: Any) -> Any:
        """Return what `save` makes of the form; None where it was not sent, or where something is wrong with it."""
        if not self.is_valid():
            return None
        try:
            return self.save(**context)
        except DomainError as error:
            self.refuse(error)
            return None

    def refuse(self, error: DomainError) -> None:
        """Show an error of a service, beside its field where it has one."""
        self.refused = error
        if not self.is_bound:
            self.full_clean()
            self.cleaned_data: dict[str, Any] = {}
        for name, words in errors_of(error).items():
            field = self.names.get(name, name)
            self.add_error(field if field in self.fields else None, words)

    @property
    def status(self) -> int:
        """Return the HTTP status of the page that shows it."""
        if self.refused is not None:
            return http_status(self.refused)
        return 400 if self.errors else 200
