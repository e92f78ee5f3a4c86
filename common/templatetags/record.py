"""Template filters for times, numbers, IDs and pagers."""

import re
from datetime import datetime
from typing import Any

from django import template
from django.core.paginator import Page
from django.template import Context
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeString, mark_safe

from common.times import absolute, file_size, relative, to_the_second

register = template.Library()
_RECEIPT = re.compile(r"\b[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}\b")
register.filter("file_size", file_size)


@register.filter
def figure(number: int) -> str:
    """Return a whole number with thousands separated."""
    return f"{number:,}"


@register.filter
def with_code(text: str) -> SafeString:
    """Return plain text with the words between backticks set as code."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))


@register.filter
def breakable(path: str) -> SafeString:
    """Return an address that may break after its slashes."""
    return mark_safe(escape(path).replace("/", "/<wbr>"))


@register.filter
def receipts_whole(text: object) -> SafeString:
    """Return text with its receipt codes marked, so that none of them breaks in the middle of a line."""
    return mark_safe(_RECEIPT.sub(r'<span class="receipt">\g<0></span>', conditional_escape(str(text))))


@register.filter
def in_zone(moment: datetime, zone: str) -> str:
    """Return the time to the second in `zone`."""
    return to_the_second(moment, zone)


@register.simple_tag
def ago(moment: datetime, now: datetime) -> SafeString:
    """Return a `<time>` that says how long ago it was."""
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(), relative(moment, now))


@register.simple_tag
def when(moment: datetime | None, now: datetime, zone: str, missing: Any = "") -> SafeString | str:
    """Return a `<time>` with the relative and the absolute time, or `missing` where there is none."""
    if moment is None:
        return str(missing)
    return format_html(
        '<time datetime="{}"><span>{}<span class="dot"> ·</span></span> <span class="absolute">{}</span></time>',
        moment.isoformat(),
        relative(moment, now),
        absolute(moment, zone),
    )


@register.inclusion_tag("common/_pager.html", takes_context=True)
def pager(context: Context, page: Page[Any], label: str, name: str = "page", anchor: str = "") -> dict[str, Any]:
    """Link the previous and the next page of a list; other parameters of the address stay."""
    query = context["request"].GET.copy()

    def address(number: int) -> str:
        query[name] = str(number)
        return f"?{query.urlencode()}" + (f"#{anchor}" if anchor else "")

    return {
        "page": page,
        "label": label,
        "previous": address(page.previous_page_number()) if page.has_previous() else "",
        "next": address(page.next_page_number()) if page.has_next() else "",
    }
