"""The organizers' list of pictures with its file, and taking photographs in by page (R2, R3)."""

import csv
import io
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from PIL import Image as Pillow

from adjudication.models import Ruling
from common.errors import StorageFull
from common.models import AuditEntry
from contest.operations.pictures.rows import Stage, picture_rows, pictures_at, pictures_received
from labeling.enums import PanelState
from labeling.models import Image, Panel
from picture_files.store import FolderStore
from tests import factories
from tests.contest.attacks.cast import upload, zipped
from tests.contest.pages import lacking, main
from tests.tables import cases

pytestmark = pytest.mark.django_db
LIST, FILE, IMPORT = "/organizer/pictures/", "/organizer/pictures.csv", "/organizer/pictures/import/"
TERMS = {"source": "Our walks", "licence": "CC0", "author": "", "origin": "dataset", "labeled": "on"}


@pytest.fixture
def client(signed_in: Any) -> Client:
    factories.policy_version()
    organizer: Client = signed_in(factories.user("olga", "organizers"))
    return organizer


def photograph(shade: int = 7, side: int = 320) -> bytes:
    packed = io.BytesIO()
    Pillow.new("RGB", (side, side), (shade, 90, 90)).save(packed, "PNG")
    return packed.getvalue()


def ruled(panel: Panel, *, verdict: str = "valid", label: str = "bird", number: int = 1) -> Ruling:
    reasons = [] if label else ["depiction"]
    given = {"policy": factories.policy_version(), "decided_by": "rules", "decided_at": factories.NOW}
    return Ruling.objects.create(
        image=panel.image, panel=panel, number=number, verdict=verdict, label=label, reasons=reasons,
        response_ids=[], **given,
    )  # fmt: skip


def at_every_stage() -> dict[Stage, Image]:
    """A picture at each stage."""
    panels = {stage: factories.panel() for stage in (Stage.OPEN, Stage.HELD, Stage.FULL, Stage.SETTLED)}
    for stage, panel in panels.items():
        missing = 3 if stage in (Stage.OPEN, Stage.HELD) else 0
        Panel.objects.filter(pk=panel.pk).update(state=PanelState(stage), missing=missing, answered=3 - missing)
    Image.objects.filter(panels__isnull=False).update(dealt_at=factories.NOW)
    waiting = {Stage.UNLABELED: factories.image(label_from=None), Stage.WAITING: factories.image()}
    return waiting | {stage: panel.image for stage, panel in panels.items()}


# The list ------------------------------------------------------------------------------------------------------------


def test_each_stage_is_told_and_filtered_by(client: Client) -> None:
    images = at_every_stage()
    rows = picture_rows(list(pictures_received()))
    assert {row.image.pk: row.stage for row in rows} == {image.pk: stage for stage, image in images.items()}
    for stage, image in images.items():
        assert list(pictures_at(pictures_received(), stage)) == [image], stage
        page = main(client, f"{LIST}?stage={stage}")
        others = [each.public_id for each in images.values() if each != image]
        assert lacking(page, *others) == others and image.public_id in page, stage


@cases(
    "asked found why",
    ("", ["heron.jpg", "wheel.png"], "everything, newest first"),
    ("words=heron", ["heron.jpg"], "by file name"),
    ("words=SHED", ["wheel.png"], "by source, in any case"),
    ("origin=gold", ["heron.jpg"], "by origin"),
    ("verdict=rejected", ["wheel.png"], "by the ruling that holds, not by an earlier one"),
    ("verdict=valid", [], "the ruling that was replaced counts no more"),
    ("words=heron&origin=dataset", [], "both at once"),
    ("origin=nonsense", [], "what is no choice matches nothing"),
)
def test_pictures_are_found(asked: str, found: list[str], why: str, client: Client) -> None:
    wheel = factories.image(source_id="wheel.png", source="a shed")
    factories.image(source_id="heron.jpg", source="a pond", origin="gold")
    panel = factories.settle(factories.panel(wheel))
    ruled(panel)
    ruled(panel, verdict="rejected", label="", number=2)
    page, answer = client.get(f"{LIST}?{asked}").content.decode(), client.get(f"{FILE}?{asked}")
    assert lacking(page, "heron.jpg", "wheel.png") == [each for each in ("heron.jpg", "wheel.png") if each not in found]
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[attr-defined]
    assert [row["file"] for row in rows] == found, why


def test_a_picture_is_found_by_its_id_and_leads_to_its_record(client: Client) -> None:
    image = factories.image()
    page = main(client, f"{LIST}?words={image.public_id.lower()}")
    assert f'href="/record/{image.public_id}/"' in page
    assert client.get(f"/record/{image.public_id}/").status_code == 200


def test_the_file_says_of_each_picture_where_it_is_from_and_what_it_is(client: Client) -> None:
    panel = factories.settle(factories.panel(factories.image(source_id="=1+1", author="Ann")))
    ruled(panel, verdict="rejected", label="")
    answer = client.get(FILE)
    (row,) = csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode()))  # type: ignore[attr-defined]
    told = {"picture": panel.image.public_id, "state": "settled", "verdict": "rejected", "reasons": "depiction"}
    assert told.items() <= row.items() and (row["answers"], row["places"], row["author"]) == ("3", "3", "Ann")
    assert row["sha256_pixels"] == panel.image.pixels_sha256


def test_an_empty_list_says_what_to_do(client: Client) -> None:
    assert "Import photographs, or wait for the first attack" in main(client, LIST)
    assert "No picture matches" in main(client, f"{LIST}?words=nothing")


# Import --------------------------------------------------------------------------------------------------------------


def test_photographs_come_in_once_with_their_terms(client: Client, now: datetime, clock: Any) -> None:
    clock(now)
    files = [upload(photograph(1), "a.png"), upload(photograph(2), "b.png"), upload(b"text", "c.png")]
    answer = client.post(IMPORT, {**TERMS, "image": files}, headers={"accept": "application/json"}).json()
    first, second, third = answer["outcomes"]
    assert [each.get("picture", {}).get("new") for each in answer["outcomes"]] == [True, True, None]
    assert third["name"] == "c.png" and third["refused"]["code"]
    image = Image.objects.get(public_id=first["picture"]["id"])
    assert (image.source, image.licence, image.source_id, image.origin) == ("Our walks", "CC0", "a.png", "dataset")
    assert image.label_from == image.received_at == now
    (entry,) = AuditEntry.objects.filter(action="picture.import")
    assert entry.subject == {"image": [first["picture"]["id"], second["picture"]["id"]]}
    assert entry.private == {"origin": "dataset", "source": "Our walks", "labeled": True}

    again = client.post(IMPORT, {**TERMS, "image": [upload(photograph(1), "other.png")]})
    assert "known, skipped" in again.content.decode() and Image.objects.count() == 2
    assert AuditEntry.objects.filter(action="picture.import").count() == 1, "nothing was done"


def test_the_pictures_of_a_zip_come_in_and_may_stay_out_of_the_queue(client: Client) -> None:
    packed = zipped(("birds/a.png", photograph(3)), ("birds/b.png", photograph(4)), ("birds/b2.png", photograph(4)))
    client.post(IMPORT, {**TERMS, "labeled": "", "origin": "gold", "image": [upload(packed, "birds.zip")]})
    rows = Image.objects.order_by("source_id").values_list("source_id", "origin", "label_from")
    assert list(rows) == [("birds/a.png", "gold", None), ("birds/b.png", "gold", None)], "the same pixels are one"


@cases(
    "changed status told why",
    ({"source": " "}, 400, "Give the source of the picture.", "every picture says where it is from (R3)"),
    ({"licence": ""}, 400, "Give the licence of the picture.", "and on which terms"),
    ({"source": "a" * 201}, 400, "at most 200 characters", "what the record cannot hold"),
    ({"origin": "attack"}, 400, "Select a valid choice", "only teams send attacks"),
    ({"image": []}, 200, "Choose at least one picture first.", "nothing was chosen"),
)
def test_what_is_missing_is_said_and_nothing_comes_in(
    changed: dict[str, Any], status: int, told: str, why: str, client: Client
) -> None:
    answer = client.post(IMPORT, {**TERMS, "image": [upload(photograph())], **changed})
    assert (answer.status_code, told in answer.content.decode(), Image.objects.count()) == (status, True, 0), why


def test_a_script_reads_what_is_wrong(client: Client) -> None:
    headers = {"accept": "application/json"}
    wrong = client.post(IMPORT, {**TERMS, "licence": "", "image": [upload(photograph())]}, headers=headers)
    assert (wrong.status_code, wrong.json()["code"]) == (400, "no_provenance")
    other = client.post(IMPORT, {**TERMS, "origin": "attack", "image": [upload(photograph())]}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (400, "invalid")


def test_a_store_that_is_full_leaves_nothing_of_the_request(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    put, calls = FolderStore.put, []

    def full(store: FolderStore, key: str, data: bytes) -> None:
        calls.append(key)
        if len(calls) > 2:
            raise StorageFull("The server has no room.", "no_room")
        put(store, key, data)

    monkeypatch.setattr(FolderStore, "put", full)
    files = [upload(photograph(1), "a.png"), upload(photograph(2), "b.png")]
    answer = client.post(IMPORT, {**TERMS, "image": files}, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (507, "no_room")
    assert not Image.objects.exists() and not AuditEntry.objects.filter(action="picture.import").exists()


def test_a_forged_request_brings_nothing_in(client: Client) -> None:
    forger = Client(enforce_csrf_checks=True)
    forger.cookies = client.cookies
    answer = forger.post(IMPORT, {**TERMS, "image": [upload(photograph())]})
    assert (answer.status_code, Image.objects.count()) == (403, 0)


def test_the_list_takes_no_more_questions_for_more_pictures(client: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(12):
        panel = factories.panel(factories.image(received_at=factories.NOW + timedelta(minutes=number)))
        ruled(factories.settle(panel))
    with django_assert_max_num_queries(12):
        assert main(client, LIST).count("<tr>") == 13
