"""Organizers' pages of pictures: the list with each one's stage, its CSV file, the import of photographs."""

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django_filters import CharFilter, ChoiceFilter

from accounts.access import organizer_of
from adjudication.enums import Verdict
from common.domain_clock import domain_now
from common.web.error_status import error_json, wants_json
from common.web.forms import Form, PicturesField, TextField
from common.web.lists import ListFilter, filter_method, page_of, streamed_csv
from common.web.page import page
from contest.attacks.uploads import MAX_ENTRIES, MAX_ZIP_BYTES, read_uploaded_files
from contest.operations.pictures.imports import Imported, ImportTerms, imported_json, pictures_import
from contest.operations.pictures.rows import (
    COLUMNS,
    STAGE_WORDS,
    Stage,
    picture_columns,
    picture_rows,
    pictures_at,
    pictures_named,
    pictures_received,
    pictures_ruled,
)
from contest.web.attack_uploads import bounded_upload, upload_place
from contest.web.page_context import PAGE_SIZE
from labeling.enums import Origin
from labeling.pictures.addresses import picture_url
from labeling.pictures.intake import MAX_PROVENANCE_CHARACTERS
from policy.selectors import policy_in_force

ORIGIN_WORDS = {
    Origin.ATTACK: "attack",
    Origin.DATASET: "dataset",
    Origin.GOLD: "gold",
    Origin.EXAMPLE: "example",
}
# Organizers import no attacks: those come from teams.
_IMPORTED = (
    (Origin.DATASET.value, "the dataset: labeled, ruled and released"),
    (Origin.GOLD.value, "gold: known answers that taskers are checked by, never released"),
    (Origin.EXAMPLE.value, "examples: what taskers learn from, never released"),
)
_WORDS = {
    "type": "search",
    "placeholder": "an ID, a file name or a source",
    "autocapitalize": "none",
    "spellcheck": "false",
}


class PictureFilter(ListFilter):
    """Filters pictures by ID, file or source, by origin, by stage, and by verdict."""

    words = CharFilter(label="Find", method=filter_method(pictures_named), widget=forms.TextInput(_WORDS))
    origin = ChoiceFilter(
        label="Origin", empty_label="All origins", choices=[(each.value, ORIGIN_WORDS[each]) for each in Origin]
    )
    stage = ChoiceFilter(
        label="State",
        empty_label="All states",
        choices=[(each.value, STAGE_WORDS[each]) for each in Stage],
        method=filter_method(pictures_at),
    )
    verdict = ChoiceFilter(
        label="Verdict",
        empty_label="All verdicts",
        choices=[(each.value, each.value) for each in Verdict],
        method=filter_method(pictures_ruled),
    )


class ImportForm(Form):
    """Imports photographs, with their source and licence (R3)."""

    image = PicturesField(
        accept="image/*,application/zip,.zip",
        help_text=f"A zip has at most {MAX_ZIP_BYTES // 1024**2} MiB and {MAX_ENTRIES} pictures.",
    )
    source = TextField(
        "Source",
        max_length=MAX_PROVENANCE_CHARACTERS,
        help_text="Where the pictures come from; public with the record.",
    )
    licence = TextField(
        "Licence", max_length=MAX_PROVENANCE_CHARACTERS, help_text="With its address, for example CC0 and its page."
    )
    author = TextField(
        "Author", max_length=MAX_PROVENANCE_CHARACTERS, required=False, help_text="Who made them, if known."
    )
    origin = forms.ChoiceField(label="What they are for", choices=_IMPORTED)
    labeled = forms.BooleanField(label="Give them to taskers to label", required=False, initial=True)

    def save(self, *, request: HttpRequest, by: User) -> list[Imported]:
        """Import them."""
        data, now = self.cleaned_data, domain_now()
        terms = ImportTerms(
            source=data["source"],
            licence=data["licence"],
            author=data["author"],
            origin=Origin(data["origin"]),
            labeled=data["labeled"],
        )
        files = read_uploaded_files(request.FILES.getlist("image"))
        return pictures_import(files, terms, size=policy_in_force(now).policy.image_size, by=by, now=now)


@page(organizer_of)
def pictures(request: HttpRequest, organizer: User) -> HttpResponse:
    """List all pictures, newest first, with the stage and the ruling of each."""
    now = domain_now()
    filtered = PictureFilter(request, pictures_received())
    page = page_of(request, filtered.rows, PAGE_SIZE)
    context = {
        "rows": [
            {"row": row, "url": picture_url(row.image, now=now), "origin": ORIGIN_WORDS[Origin(row.image.origin)]}
            for row in picture_rows(list(page.object_list))
        ],
        "page": page,
        "filter": filtered,
        "zone": policy_in_force(now).policy.time_zone,
        "now": now,
    }
    return render(request, "pictures/pictures.html", context)


@page(organizer_of)
def pictures_csv(request: HttpRequest, organizer: User) -> StreamingHttpResponse:
    """Return the filtered pictures as a CSV file, newest first."""
    rows = PictureFilter(request, pictures_received()).rows
    return streamed_csv(f"pictures-{domain_now():%Y-%m-%d}", COLUMNS, rows, picture_columns)


@page(organizer_of, "GET POST")
@bounded_upload(upload_place)
def pictures_new(request: HttpRequest, organizer: User) -> HttpResponse:
    """Import photographs; the page's script sends a few at a time and gets JSON."""
    form = ImportForm.of(request)
    outcomes = form.submit(request=request, by=organizer)
    if wants_json(request):
        return _import_json(form, outcomes)
    context = {"form": form, "outcomes": outcomes, "size": policy_in_force(domain_now()).policy.image_size}
    return render(request, "pictures/import.html", context, status=form.status)


def _import_json(form: ImportForm, outcomes: list[Imported] | None) -> JsonResponse:
    if form.refused is not None:
        return error_json(form.refused)
    if outcomes is None:
        return JsonResponse({"code": "invalid", "detail": "Choose what the pictures are for."}, status=400)
    return JsonResponse({"outcomes": [imported_json(each) for each in outcomes]})
