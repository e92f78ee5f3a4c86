"""`python -m adjudication.verify DIR`: check a weekly release with nothing but Python (R39).

Everything that follows from the raw responses and predictions is derived again by the contest's own rules: rulings,
breaks, `tasker_data.csv` and the annotations; and the votes of the board are counted again. Each difference is one
line. Exit status: 0 nothing differs, 1 something does, 2 the folder is no release.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from adjudication.verifier import release_format as form
from adjudication.verifier import release_tables
from adjudication.verifier.audit import check_audit
from adjudication.verifier.board import check_board
from adjudication.verifier.breaks import (
    check_breaks,
    check_complete,
    check_mistakes,
    pictures_outside,
    read_faults,
    read_predictions,
)
from adjudication.verifier.chain import check_chain
from adjudication.verifier.contest import check_contest
from adjudication.verifier.derived import (
    COCO_TAIL,
    TASKER_DATA_HEADINGS,
    TASKERS_IN_A_ROW,
    Annotations,
    ReleasedPicture,
    coco_head,
    tasker_data_row,
)
from adjudication.verifier.panels import Panels, counted_ids, read_panels
from adjudication.verifier.pictures import check_images, check_pictures
from adjudication.verifier.release_reader import (
    Findings,
    Manifest,
    NotARelease,
    Row,
    check_files,
    check_name,
    compare_text,
    csv_text,
    read_manifest,
    read_table,
)
from adjudication.verifier.rows import RowMaker
from adjudication.verifier.rulings import check_rulings, read_policies, read_responses
from adjudication.verifier.terminal import show
from labeling.enums import Label

NOTHING_DIFFERS, DIFFERENT, NO_RELEASE = 0, 1, 2


def verify(
    folder: Path,
    *,
    previous: Path | None = None,
    pictures: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Findings:
    """Check the release in `folder`; raises NotARelease. `pictures=False` leaves the picture files unread."""
    findings = Findings()
    manifest = read_manifest(folder, findings)
    try:
        _check(folder, manifest, previous, pictures, findings, progress)
    except NotARelease:
        raise  # the release that `previous` names
    except Exception as error:
        # No check fails on anything that is known; what nobody thought of is a difference and ends no mirror.
        findings.add(form.MANIFEST, "release", f"a check ended early: {error!r}", "a release that can be checked")
    return findings


def _check(
    folder: Path,
    manifest: Manifest,
    previous: Path | None,
    pictures: bool,
    findings: Findings,
    progress: Callable[[int, int], None],
) -> None:
    check_name(manifest, findings)
    check_chain(folder, manifest, previous, findings)
    check_files(folder, manifest, findings)
    revision, maker = manifest.revision, RowMaker()
    tables = {
        name: read_table(folder, name, findings, revision=revision, maker=maker)
        for name in release_tables.tables_of(revision)
    }
    check_images(tables[form.IMAGES], manifest, findings)
    _check_rows(folder, manifest, tables, findings)
    if form.AUDIT in tables:
        check_audit(folder, manifest, tables[form.AUDIT], previous, findings)
    if pictures:
        check_pictures(folder, manifest, tables[form.IMAGES], findings, progress)
    _note_what_waits(manifest, findings)


def _check_rows(folder: Path, manifest: Manifest, tables: Mapping[str, list[Row]], findings: Findings) -> None:
    images = {row["image_id"]: row for row in tables[form.IMAGES]}
    defenses = {row["defense_id"]: row for row in tables[form.DEFENSES]}
    policies = read_policies(manifest, findings)
    panels = read_responses(tables[form.RESPONSES], images, findings)
    read_panels(tables.get(form.PANELS, []), manifest, panels)
    newest = check_rulings(tables[form.RULINGS], images, panels, policies, manifest, findings)
    predictions = read_predictions(tables[form.PREDICTIONS], images, defenses, findings)
    faults = read_faults(tables[form.FAULTS], images, defenses, predictions, findings)
    check_complete(predictions, faults, defenses, newest, policies, manifest, findings)
    outside = pictures_outside(tables, manifest)
    check_breaks(tables[form.BREAKS], tables[form.RULINGS], newest, predictions, outside, findings)
    if form.MISTAKES in tables:
        check_mistakes(tables[form.MISTAKES], newest, predictions, outside, images, findings)
    if manifest.revision > 1:
        check_contest(tables, predictions, outside, manifest, findings)
    if form.CASES in tables:
        check_board(tables, manifest, findings)
    tasker_rows = _check_derived(folder, manifest, images, newest, panels, findings)
    _check_counts(manifest, tables, tasker_rows, findings)


def _check_derived(
    folder: Path,
    manifest: Manifest,
    images: Mapping[str, Row],
    newest: Mapping[str, Row],
    panels: Panels,
    findings: Findings,
) -> int:
    """Write `tasker_data.csv` and the annotations again and compare. Returns the rows of the first."""

    def pictures() -> Iterator[ReleasedPicture]:
        return (_picture(row, newest.get(image_id), panels) for image_id, row in images.items())

    valid = (each for each in pictures() if each.label is not None)
    annotations = Annotations()
    coco = (
        coco_head(manifest.values["week"], manifest.rule_book, valid),
        (annotations.of(each, panels.of(each.image_id)) for each in pictures()),
        (COCO_TAIL,),
    )
    rows = (tasker_data_row(each, panels.of(each.image_id)) for each in pictures())
    told = csv_text(row for row in chain(TASKER_DATA_HEADINGS, rows) if row is not None)
    for name, follows in ((form.TASKER_DATA, told), (form.COCO, chain.from_iterable(coco))):
        compare_text(folder, name, follows, findings)
    return sum(len(each.heard(panels.of(each.image_id))) == TASKERS_IN_A_ROW for each in pictures())


def _picture(row: Row, ruling: Row | None, panels: Panels) -> ReleasedPicture:
    label = Label(ruling["label"]) if ruling and ruling["label"] else None
    counted = frozenset(counted_ids(ruling, panels)) if ruling else None
    return ReleasedPicture(row["image_id"], row["sha256_pixels"], int(row["width"]), int(row["height"]), label, counted)


def _check_counts(manifest: Manifest, tables: Mapping[str, list[Row]], tasker_rows: int, findings: Findings) -> None:
    follows = {name.partition(".")[0]: len(rows) for name, rows in tables.items()}
    follows[form.TASKER_DATA.partition(".")[0]] = tasker_rows
    recorded = manifest.values["counts"]
    for name in sorted(follows.keys() | recorded.keys()):
        findings.compare(form.MANIFEST, f"counts of {name}", recorded.get(name), follows.get(name))


def _note_what_waits(manifest: Manifest, findings: Findings) -> None:
    waits = {what: number for what, number in manifest.values["waiting"].items() if number}
    if waits:
        listed = ", ".join(f"{number} for {what}" for what, number in waits.items())
        findings.note(f"incomplete: when this was released, pictures still waited: {listed}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = ArgumentParser(prog="python -m adjudication.verify", description="Check a weekly release.")
    parser.add_argument("folder", type=Path, help="the release's folder")
    parser.add_argument("--previous", type=Path, help="the folder of the release before it (default: looked for)")
    parser.add_argument("--quiet", action="store_true", help="print differences alone")
    options = parser.parse_args(arguments)
    shows = sys.stderr.isatty() and not options.quiet
    try:
        findings = verify(
            options.folder, previous=options.previous, progress=_counter if shows else lambda done, total: None
        )
    except NotARelease as error:
        show(error, stream=sys.stderr)
        return NO_RELEASE
    _print_result(findings, quiet=options.quiet)
    return DIFFERENT if findings.differences else NOTHING_DIFFERS


def _counter(done: int, total: int) -> None:
    if done % 100 == 0 or done == total:
        line = f"{done:,} of {total:,} pictures"
        show(line, stream=sys.stderr, end="\n" if done == total else "", over=True)


def _print_result(findings: Findings, *, quiet: bool) -> None:
    for difference in findings.all_differences():
        show(difference)
    if quiet:
        return
    for line in (*findings.figures, *findings.notes):
        show(line)
    number = len(findings.differences) + findings.not_kept
    show(f"{number:,} difference{'s' if number != 1 else ''} found." if number else "Nothing differs.")


if __name__ == "__main__":
    sys.exit(main())
