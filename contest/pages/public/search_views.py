"""Public search page: finds public records by ID or name (R24)."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.forms import Form, TextField
from common.web.page import page
from contest.record.search import MAX_SEARCH_CHARACTERS, Search, search_from


class SearchForm(Form):
    """The search field."""

    q = TextField(
        "ID, team, defense, or words of a decision",
        max_length=MAX_SEARCH_CHARACTERS,
        required=False,
        type="search",
        autocapitalize="off",
        spellcheck="false",
    )


@page()
def search(request: HttpRequest) -> HttpResponse:
    """Redirect to the record that an ID names, or list records with the words in their names."""
    asked = search_from(request.GET.get("q", ""))
    found = Search(request.user, now=domain_now()).find(asked)
    if found.exact is not None:
        return HttpResponseRedirect(found.exact.url)
    return render(request, "record/search.html", {"asked": asked, "found": found, "form": SearchForm({"q": asked})})
