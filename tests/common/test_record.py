"""How pages write what is on record: receipt codes whole, and times per language with their zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.utils import timezone, translation
from django.utils.html import format_html

from common.templatetags.record import receipts_whole

CODE = "3215-314C-55F4"


@pytest.mark.parametrize(
    ("text", "written", "why"),
    [
        (f"receipt {CODE}.", f'receipt <span class="receipt">{CODE}</span>.', "a code in a sentence"),
        (f"{CODE}, {CODE}", ", ".join([f'<span class="receipt">{CODE}</span>'] * 2), "two codes"),
        ("<b>" + CODE, f'&lt;b&gt;<span class="receipt">{CODE}</span>', "what is around it is escaped"),
        (format_html("<b>{}</b>", "x"), "<b>x</b>", "unless it is safe"),
        ("3215-314C-55F4A and T-00000", "3215-314C-55F4A and T-00000", "no code"),
    ],
)
def test_a_receipt_code_is_kept_whole(text: str, written: str, why: str) -> None:
    assert receipts_whole(text) == written, why


@pytest.mark.parametrize(
    ("language", "zone", "moment", "day"),
    [
        ("en", "UTC", "21 Nov 2026, 03:17 UTC", "21 Nov 2026"),
        ("en", "Europe/Berlin", "21 Nov 2026, 04:17 CET", "21 Nov 2026"),
        ("en", "America/New_York", "20 Nov 2026, 22:17 EST", "20 Nov 2026"),
        ("de", "Europe/Berlin", "21. November 2026, 04:17 CET", "21. November 2026"),
    ],
)
def test_a_time_names_its_zone_in_every_language(language: str, zone: str, moment: str, day: str) -> None:
    page = Template('{{ at|date:"DATETIME_FORMAT" }}/{{ at|date:"DATE_FORMAT" }}')
    with translation.override(language), timezone.override(ZoneInfo(zone)):
        assert page.render(Context({"at": datetime(2026, 11, 21, 3, 17, tzinfo=UTC)})) == f"{moment}/{day}"
