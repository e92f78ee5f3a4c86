"""The register of decoders: every place where untrusted bytes or text become objects, with its limits.

Every new call that decodes or unpacks is added here, with limits that the code enforces; `tests/test_decoders.py`
fails for a missing place and for one that no longer exists. Each limit is the constant that enforces it, not a copy.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.passkeys import MAX_CREDENTIAL_CHARACTERS
from adjudication import mirror
from adjudication.signatures import signed_note
from adjudication.verifier import release_zip, untrusted_files
from common.web import body_limits, json_parser
from contest.attacks import uploads
from contest.web import defense_uploads as stakes_uploads
from contest.web.attack_uploads import MAX_UPLOAD_BYTES
from defense_kit import archive, frames
from labeling import outlines
from labeling.pictures import addresses
from picture_files import decoding, image_headers
from policy.numbers import Policy
from scoring.trials import submitted_files

_POLICY = Policy()
# CPU seconds for the input of one request: tests with hostile input enforce it. A submitted defense is hashed and
# copied as well, which takes time in proportion to its size.
REQUEST_SECONDS = 0.5
HAND_IN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DecodingLimits:
    """What decoding may cost, known before it begins: bytes that go in and come out, pieces, and seconds."""

    bytes_in: int
    bytes_out: int
    pieces: int
    seconds: float


_PICTURE = DecodingLimits(
    bytes_in=decoding.MAX_PICTURE_BYTES,
    bytes_out=decoding.MAX_PIXELS * 4,
    pieces=image_headers.MAX_CHUNKS,
    seconds=decoding.DECODING.seconds,
)
_HEADERS = DecodingLimits(
    decoding.MAX_PICTURE_BYTES, image_headers.MAX_EXTRA_BYTES, image_headers.MAX_CHUNKS, REQUEST_SECONDS
)
_JSON = DecodingLimits(json_parser.MAX_BYTES, json_parser.MAX_BYTES, json_parser.MAX_LEVELS, REQUEST_SECONDS)
_FORM = DecodingLimits(body_limits.DEFAULT_BYTES, body_limits.DEFAULT_BYTES, outlines.MAX_CORNERS, REQUEST_SECONDS)
_ARCHIVE = DecodingLimits(
    submitted_files.MAX_ARCHIVE_BYTES, archive.MAX_DESCRIBED_CHARACTERS, archive.MAX_MEMBERS, archive.MAX_SECONDS
)
_LAYERS = DecodingLimits(submitted_files.MAX_ARCHIVE_BYTES, archive.MAX_BYTES, archive.MAX_FILES, archive.MAX_SECONDS)
_SOURCE = DecodingLimits(
    submitted_files.MAX_SOURCE_BYTES, submitted_files.MAX_LIST_BYTES, submitted_files.MAX_FILES, HAND_IN_SECONDS
)
_TEXT_FRAME = DecodingLimits(frames.MAX_TEXT_BYTES, frames.MAX_TEXT_BYTES, 1, _POLICY.hello_seconds)
_ANSWER_FRAME = DecodingLimits(
    _POLICY.batch_size * frames.ANSWER_ROW.itemsize,
    _POLICY.batch_size * frames.ANSWER_ROW.itemsize,
    _POLICY.batch_size,
    _POLICY.batch_size * _POLICY.seconds_per_picture,
)
_LIST_BYTES = untrusted_files.MAX_LIST_BYTES
_NOTE = DecodingLimits(
    signed_note.MAX_NOTE_BYTES, signed_note.MAX_NOTE_BYTES, signed_note.MAX_SIGNATURES, mirror.SECONDS
)
_RELEASE_LIST = DecodingLimits(_LIST_BYTES, _LIST_BYTES, pieces=_LIST_BYTES, seconds=mirror.SECONDS)

# Input of strangers: a place, `file:function`, with its limits.
BOUNDED: Mapping[str, DecodingLimits] = {
    # Pictures: uploads, zips of them, imports, private sets.
    **dict.fromkeys(
        (
            "picture_files/image_headers.py:_exif_orientation",
            "picture_files/image_headers.py:_jpeg",
            "picture_files/image_headers.py:_jpeg_segments",
            "picture_files/image_headers.py:_png",
            "picture_files/image_headers.py:_png_chunks",
            "picture_files/image_headers.py:_srgb_primaries",
            "picture_files/image_headers.py:_webp",
            "picture_files/image_headers.py:_webp_chunks",
        ),
        _HEADERS,
    ),
    "picture_files/decoding.py:_open": _PICTURE,
    "picture_files/decoding.py:_transform_to_srgb": _PICTURE,
    "contest/attacks/uploads.py:_archive": DecodingLimits(
        uploads.MAX_ZIP_BYTES, uploads.MAX_ZIP_BYTES, uploads.MAX_ENTRIES, uploads.MAX_ENTRIES * REQUEST_SECONDS
    ),
    "common/zips.py:zip_size": _SOURCE,
    "common/zips.py:_numbers_64": _SOURCE,
    # Bodies of requests.
    "common/web/json_parser.py:JSONParser": _JSON,
    "contest/api/attack_calls.py:Attacks": DecodingLimits(
        MAX_UPLOAD_BYTES, MAX_UPLOAD_BYTES, body_limits.MAX_FIELDS, uploads.MAX_ENTRIES * REQUEST_SECONDS
    ),
    "contest/api/defense_calls.py:Defenses": DecodingLimits(
        stakes_uploads.MAX_SUBMISSION_BYTES,
        stakes_uploads.MAX_SUBMISSION_BYTES,
        body_limits.MAX_FIELDS,
        HAND_IN_SECONDS,
    ),
    "labeling/pages/plain_form.py:_json_rings": _FORM,
    "monitoring/gold_choice.py:canonical_outline": _FORM,
    "labeling/pictures/addresses.py:pixels_hash_of": DecodingLimits(
        addresses.TOKEN_CHARACTERS, addresses.TOKEN_BYTES, pieces=1, seconds=REQUEST_SECONDS
    ),
    "accounts/passkeys.py:_read": DecodingLimits(
        MAX_CREDENTIAL_CHARACTERS, MAX_CREDENTIAL_CHARACTERS, MAX_CREDENTIAL_CHARACTERS, REQUEST_SECONDS
    ),
    # Submissions of teams.
    **dict.fromkeys(
        (
            "defense_kit/archive.py:_configuration_name",
            "defense_kit/archive.py:_copy",
            "defense_kit/archive.py:_facts",
            "defense_kit/archive.py:_layers",
            "defense_kit/archive.py:_member",
            "defense_kit/archive.py:_nameless",
            "defense_kit/archive.py:_open_tar",
        ),
        _ARCHIVE,
    ),
    "defense_kit/archive.py:UnpackingBudget.spend": _LAYERS,
    "defense_kit/archive.py:_unpacking": _LAYERS,
    "defense_kit/archive.py:check_beginning": DecodingLimits(
        submitted_files.MAX_ARCHIVE_BYTES, archive.FIRST_BYTES, archive.MAX_LAYERS, HAND_IN_SECONDS
    ),
    "scoring/trials/submitted_files.py:_check_zip": _SOURCE,
    "scoring/trials/submitted_files.py:list_source": _SOURCE,
    # The defense protocol: messages of a team's program.
    "defense_kit/protocol.py:read_header": _TEXT_FRAME,
    "defense_kit/protocol.py:read_hello": _TEXT_FRAME,
    "defense_kit/protocol.py:read_answers": _ANSWER_FRAME,
    # Releases that a mirror fetches from elsewhere.
    "adjudication/verifier/untrusted_files.py:read_json": _RELEASE_LIST,
    "adjudication/signatures/signed_note.py:bytes_in_base64": _NOTE,
    "adjudication/verifier/release_zip.py:_open_zip": DecodingLimits(
        release_zip.MAX_RELEASE_BYTES, release_zip.MAX_RELEASE_BYTES, untrusted_files.MAX_MANIFEST_BYTES, mirror.SECONDS
    ),
}

# Trusted input: the place, with the reason why it needs no limit.
TRUSTED: Mapping[str, tuple[str, ...]] = {
    "signed by this server: the signature is checked before anything is decoded": (
        "accounts/second_factor.py:_being_set_up",
        "accounts/session_store.py:_proven_user",
        "accounts/session_store.py:_signed_values",
        "contest/releases/announcements.py:address_from_link",
        "contest/teams/registration.py:address_of_link",
    ),
    "a draft that the JSON parser has read and this server wrote": ("labeling/pages/assignment_calls.py:draft_json",),
    "an outline that read_outline has checked and the database keeps": (
        "labeling/learning/drawing.py:tie_break_for",
        "labeling/learning/wording.py:box_share",
        "labeling/my_work/record.py:_answer",
        "labeling/my_work/answer_words.py:svg_polygons",
        "labeling/outlines.py:_area_of",
        "labeling/outlines.py:drawn_outline",
        "monitoring/links.py:corners_off_frame",
        "monitoring/overlap.py:_ground",
    ),
    "pixels or answers of a length that was checked, viewed without being copied": (
        "contest/attacks/hashing.py:difference_hash",
        "contest/simulation/painting.py:picture_pixels",
        "scoring/arrays.py:_decoded",
        "scoring/trials/answers.py:unpack_rows",
        "scoring/trials/work.py:_tutorial_pictures",
    ),
    "a canonical picture out of the own store or a release; no more is unpacked than its size says": (
        "picture_files/png.py:_chunks",
        "picture_files/png.py:_inflated",
        "picture_files/png.py:_parts",
    ),
    "a file of this project": (
        "contest/demo/defense/predict.py:main",
        "contest/demo/programs.py:Program.weights",
        "contest/demo/programs.py:InProcessProgram.__init__",
        "contest/demo/pictures.py:_mirror_file",
        "contest/demo/pictures.py:photos",
        "tools/guide_pictures.py:main",
        "tools/learning_pictures/examples.py:_drawn",
        "tools/learning_pictures/examples.py:main",
        "tools/learning_pictures/canvas.py:<module>",
        "tools/learning_pictures/canvas.py:photo",
        "scoring/inference.py:load_weights",
        "scoring/reference/picture_statistics.py:load",
    ),
    "what the contest answers, read by a participant's program": (
        "contest/api/unanimous_client.py:Client._json",
        "contest/api/unanimous_client.py:_refusal",
    ),
    "written here, not read": (
        "adjudication/verifier/panels.py:Panels._held",
        "adjudication/verifier/panels.py:Panels.ids",
        "adjudication/zipapp.py:build_zipapp",
        "contest/demo/programs.py:tar_of",
        "contest/demo/programs.py:zip_of",
        "defense_kit/warmup/corruptions/digital.py:jpeg",
        "defense_kit/warmup/streams.py:Streams._state",
    ),
    "written by another process of this server": (
        "contest/management/commands/simulate.py:Command._play_apart",
        "contest/operations/made_letters.py:_parsed",
        "defense_kit/keeper.py:main",
        "defense_kit/process.py:StartedProcess._hear",
    ),
    "said by the kernel": ("defense_kit/conversation.py:_user_of",),
    "a file of an organizer, on the server's own command line": (
        "labeling/learning/content.py:listed_pictures",
        "labeling/pictures/manifest.py:_csv_rows",
        "labeling/pictures/manifest.py:_json_rows",
        "scoring/management/commands/import_private_set.py:_of_manifest",
    ),
    "releases that the verifier has passed, on the organizers' command line": (
        "contest/record/rebuild/mirror_reader.py:MirroredRelease.manifest",
        "contest/record/rebuild/mirror_reader.py:MirroredRelease.rows",
        "contest/record/rebuild/mirror_reader.py:_parts",
    ),
    "a release that somebody checks on a machine of their own; it costs nobody else": (
        "adjudication/verifier/audit.py:_public",
        "adjudication/schema/cells.py:json_from",
        "adjudication/verifier/release_reader.py:_csv_cells",
        "adjudication/verifier/rows.py:cells_of",
        "adjudication/verifier/votes.py:value_of",
    ),
    "runs on the machine of the one whose file it is": (
        "defense_kit/check.py:load_pictures",
        "defense_kit/examples/torch_defense/defense.py:build",
        "defense_kit/warmup/pictures.py:_read",
        "defense_kit/warmup/results.py:Results.of",
        "defense_kit/warmup/results.py:_unpacked",
        "defense_kit/warmup/checkpoints.py:packed",
        "defense_kit/warmup/checkpoints.py:unpacked",
        "defense_kit/warmup/worst_pictures.py:_card",
        "labeling/my_work/check.py:main",
        "labeling/my_work/signing.py:_read",
        "labeling/my_work/signing.py:_unpadded",
    ),
    "runs in a participant's program and reads what the contest sends": (
        "defense_kit/serve.py:_read_batch",
        "defense_kit/serve.py:_read_header",
        "defense_kit/serve.py:_read_ready",
        "defense_kit/shared_memory.py:places",
    ),
}
