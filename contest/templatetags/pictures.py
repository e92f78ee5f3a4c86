"""Template tags for links to pictures."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse

from contest.core.picture_access import Reader, is_seen_by
from labeling.models import Image

register = template.Library()


@register.simple_tag(takes_context=True)
def record_page(context: Mapping[str, Any], image: Image, now: datetime) -> str:
    """Return the address of a picture's page in the record; empty where the reader may not open it (R24)."""
    may = is_seen_by(image, Reader.of(context["request"].user), now=now)
    return reverse("picture-record", args=[image.public_id]) if may else ""
