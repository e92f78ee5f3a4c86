"""Base classes of all forms: one field template, and service errors beside their field."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, ClassVar, Self

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest

from common.errors import DomainError, InvalidInput, required
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import errors_of


class FormRenderer(TemplatesSetting):
    """Renders each field with its label, help and errors by one template."""

    field_template_name = "forms/field.html"


class TextField(forms.CharField):
    """Text of at most `max_length` characters, and one more for the service to refuse; with `rows`, in a text area of
    this height.

    The server does not validate it here: the service says what is missing or too long, for pages and programs alike.
    """

    def __init__(
        self,
        label: Any,
        *,
        max_length: int,
        rows: int = 0,
        required: bool = True,
        help_text: Any = "",
        **attributes: Any,
    ) -> None:
        shown = {"maxlength": max_length, "autocomplete": "off", **attributes}
        if required:
            shown["required"] = True
        widget = forms.Textarea({"rows": rows, "cols": False, **shown}) if rows else forms.TextInput(shown)
        super().__init__(label=label, required=False, widget=widget, help_text=help_text)
        self._max_length = max_length

    def to_python(self, value: Any) -> str:
        """Return the text without surrounding white space and NUL characters.

        The end of a line is one character, as in the browser's count; it is sent as two.
        """
        return str(value or "").replace("\x00", "").replace("\r\n", "\n").strip()[: self._max_length + 1]


class PicturesInput(forms.FileInput):
    """Several files."""

    allow_multiple_selected = True


class PicturesField(forms.Field):
    """Pictures, or zips of them: an input alone, for the view reads what was sent. `accept` lists kinds of files."""

    def __init__(self, *, accept: str, help_text: str) -> None:
        widget = PicturesInput({"multiple": True, "required": True, "accept": accept})
        super().__init__(label="Pictures, or a zip of them", required=False, widget=widget, help_text=help_text)


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


class RowNumberField(forms.Field):
    """The number of a row in a hidden input; 0, which no row has, for anything else."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)

    def to_python(self, value: Any) -> int:
        """Return the number."""
        return whole_number(str(value or "").strip()) or 0


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
    def of(cls, request: HttpRequest, /, *, action: str | tuple[str, ...] = "", **named: Any) -> Self:
        """Return the form as it was sent, or an empty one. On a page with several forms `action` is the value of this
        one's button, or those of its buttons."""
        actions = (action,) if isinstance(action, str) else action
        sent = request.method == "POST" and request.POST.get("action", "") in actions
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
        if not self.is_valid() and not self.is_bound:
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


class RowForm(Form):
    """A form that every row of a list has. Its hidden fields, named in `keys`, say which row it is about."""

    keys: ClassVar[tuple[str, ...]]

    def for_row(self, *keys: object, **named: Any) -> Self:
        """Return the form of a row: this one if it was sent for it, an empty one for any other row."""
        given = dict(zip(self.keys, map(str, keys), strict=True))
        is_sent = self.is_bound and all(self.data.get(name, "") == key for name, key in given.items())
        form = self if is_sent else type(self)(initial=given, **named)
        form.auto_id = f"%s-{'-'.join(filter(None, given.values()))}"
        return form


class DayField(forms.DateField):
    """A calendar day such as 2026-11-18, of the years 2000 to 2999. `wrong` is said of anything else, `missing` of an
    empty field, which is allowed without it."""

    def __init__(
        self,
        label: Any,
        *,
        missing: str = "",
        wrong: Any = "Write a day such as 2026-11-18.",
        required: bool = False,
        **named: Any,
    ) -> None:
        widget = forms.DateInput({"type": "date", **({"required": True} if missing else {})}, format="%Y-%m-%d")
        super().__init__(
            label=label,
            required=required or bool(missing),
            widget=widget,
            input_formats=["%Y-%m-%d"],
            error_messages={"invalid": wrong, "required": missing},
            validators=[MinValueValidator(date(2000, 1, 1), wrong), MaxValueValidator(date(2999, 12, 31), wrong)],
            **named,
        )


def sent_form(request: HttpRequest, *choices: Form) -> Form | None:
    """Return the form that was sent, None where none was; InvalidInput for a POST of none of the page's forms."""
    if request.method != "POST":
        return None
    return required(
        next((form for form in choices if form.is_bound), None),
        InvalidInput("Use one of the forms of this page.", "invalid"),
    )
