"""`python -m adjudication.verify RELEASE`: check a weekly release with nothing but Python (R39).

RELEASE is its folder or its zip. `adjudication.zipapp` packs this program as one file, `verify.pyz`.

Everything that follows from the raw responses and predictions is recomputed by the contest's own rules: rulings,
breaks, `tasker_data.csv` and the annotations; and the votes of the board are counted again. Each difference is one
line. Exit status: 0 nothing differs, 1 something does, 2 the folder is no release or the file of `--key` has no keys.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from adjudication.report import report, report_json, verdict
from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from adjudication.signatures.checking import check_signatures, copy_signature
from adjudication.signatures.key_files import KeyFileError, read_trusted_keys
from adjudication.verifier.answer_checks import begin_answers
from adjudication.verifier.audit import check_audit, check_publications
from adjudication.verifier.board import check_board
from adjudication.verifier.bounds import check_bounds
from adjudication.verifier.breaks import (
    check_breaks,
    check_complete,
    check_mistakes,
    check_unproved,
    pictures_outside,
    read_faults,
    read_predictions,
)
from adjudication.verifier.chain import check_chain
from adjudication.verifier.findings import Findings
from adjudication.verifier.ledger_checks import check_ledger
from adjudication.verifier.manifest_checks import check_manifest, check_waiting
from adjudication.verifier.panels import read_panels
from adjudication.verifier.picture_checks import check_attacks, check_origins
from adjudication.verifier.pictures import CheckProcesses, PictureCheck, check_images, processes_for
from adjudication.verifier.policies import check_zones, read_policies
from adjudication.verifier.release import CheckedRelease, begin_table, earlier_releases, sizes_of
from adjudication.verifier.release_reader import Manifest, check_files, check_name, read_manifest, read_table
from adjudication.verifier.release_zip import Progress, release_folders
from adjudication.verifier.rows import Row, RowMemory
from adjudication.verifier.rulings import check_rulings, read_responses
from adjudication.verifier.run_checks import check_defenses, check_found, check_runs
from adjudication.verifier.stake_checks import check_stakes
from adjudication.verifier.terminal import printable, show
from adjudication.verifier.untrusted_files import NotARelease

NOTHING_DIFFERS, DIFFERENT, NO_RELEASE = 0, 1, 2
EXIT_STATUS = "Exit status: 0 nothing differs, 1 something differs, 2 nothing could be checked."
KEY_HELP = "check the signatures: a file with the contest's public key in its first line, those of witnesses below it"


def verify(
    folder: Path,
    *,
    previous: Path | None = None,
    pictures: bool = True,
    progress: Progress = lambda *_: None,
) -> Findings:
    """Check the release in `folder`; raises NotARelease. `pictures=False` leaves the picture files unread."""
    findings, folder = Findings(), folder.resolve()
    with processes_for(folder) if pictures else nullcontext() as processes:
        manifest = read_manifest(folder, findings)
        findings.figures.append(printable(f"{manifest.name}: SHA-256 of the manifest {manifest.sha256}"))
        try:
            _check(folder, manifest, previous, pictures, processes, findings, progress)
        except NotARelease:
            raise  # this release, or the one in `previous`, cannot be read
        except Exception as error:
            # No known input makes a check fail; an unexpected error becomes a difference, so that a mirror goes on.
            findings.add(form.MANIFEST, "release", f"a check ended early: {error!r}", "a release that can be checked")
    return findings


def _check(
    folder: Path,
    manifest: Manifest,
    previous: Path | None,
    pictures: bool,
    processes: CheckProcesses | None,
    findings: Findings,
    progress: Progress,
) -> None:
    check_zones(manifest)
    check_name(manifest, findings)
    check_chain(folder, manifest, previous, findings)
    check_files(folder, manifest, findings)
    memory, tables = RowMemory(folder), {}
    names = release_tables.tables_of(manifest.revision)
    tables[form.IMAGES] = read_table(folder, form.IMAGES, findings, revision=manifest.revision, memory=memory)
    looked = PictureCheck(folder, manifest, tables[form.IMAGES], processes) if pictures else None
    manifest.files.clear()  # the list of files, the longest of all, is not needed again
    table_process = processes.tables if processes is not None else None
    responses = begin_table(folder, form.RESPONSES, memory, table_process, revision=manifest.revision)
    # The results of the other process come last.
    for number, name in enumerate(sorted(names, key=form.RESPONSES.__eq__), start=1):
        if name == form.RESPONSES:
            tables[name] = responses(findings)
        elif name not in tables:
            tables[name] = read_table(folder, name, findings, revision=manifest.revision, memory=memory)
        findings.rows[name] = len(tables[name])
        progress("tables read", number, len(names))
    earlier = earlier_releases(manifest, folder.resolve().parent, previous, memory_left=memory.left)
    if earlier.left_out:
        findings.note(f"chain: {earlier.left_out} and those before it are not compared: they take too much memory")
    policies = read_policies(manifest, [each.manifest for each in earlier.releases], findings)
    release = CheckedRelease(folder, manifest, tables, earlier, policies)
    answers = begin_answers(release, table_process)
    check_images(tables[form.IMAGES], manifest, findings)
    check_bounds(release, findings)
    _check_rows(release, answers, findings)
    if form.AUDIT in tables:
        check_audit(release, findings)
        check_publications(release, findings)
    if looked is not None:
        looked.finish(findings, progress)
    _note_what_waits(manifest, findings)


def _check_rows(release: CheckedRelease, answers: Callable[[], tuple[Findings, int]], findings: Findings) -> None:
    manifest, tables, policies = release.manifest, release.tables, release.policies.named
    sizes = sizes_of(tables[form.IMAGES])
    panels = read_responses(tables[form.RESPONSES], sizes, findings)
    read_panels(release.rows(form.PANELS), manifest, panels)
    newest = check_rulings(tables[form.RULINGS], sizes, panels, policies, manifest, findings)
    predictions = read_predictions(tables[form.PREDICTIONS], findings)
    faults = read_faults(tables[form.FAULTS], predictions, findings)
    check_complete(release, predictions, faults, findings)
    check_runs(release, findings)
    outside = pictures_outside(tables, manifest)
    check_breaks(tables[form.BREAKS], tables[form.RULINGS], newest, predictions, outside, findings)
    if form.MISTAKES in tables:
        check_mistakes(
            tables[form.MISTAKES], newest, predictions, outside, release.by(form.IMAGES, "image_id"), findings
        )
    check_found(release, findings)
    check_manifest(release, findings)
    if manifest.revision > 1:
        check_waiting(release, predictions, faults, findings)
        check_unproved(tables[form.UNPROVED], predictions, outside, findings)
        check_origins(release, findings)
        check_attacks(release, findings)
        check_defenses(release, findings)
        check_stakes(release, findings)
        check_ledger(release, findings)
    if form.CASES in tables:
        check_board(release, findings)
    found, tasker_rows = answers()
    findings.extend(found)
    _check_counts(manifest, tables, tasker_rows, findings)


def _check_counts(
    manifest: Manifest, tables: Mapping[str, Sequence[Row]], tasker_rows: int, findings: Findings
) -> None:
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
    parser = ArgumentParser(description="Check a weekly release.", epilog=EXIT_STATUS)
    parser.add_argument("release", type=Path, help="the release: its folder, or its zip as it was downloaded")
    parser.add_argument("--previous", type=Path, help="the release before it, folder or zip (default: looked for)")
    parser.add_argument("--key", type=Path, metavar="FILE", help=KEY_HELP)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found into this file, as JSON")
    parser.add_argument("--quiet", action="store_true", help="print differences alone")
    options = parser.parse_args(arguments)
    shows = sys.stderr.isatty() and not options.quiet
    try:
        keys = read_trusted_keys(options.key) if options.key else None
        progress: Progress = _show_progress if shows else lambda *_: None
        with release_folders(options.release, options.previous, progress) as places:
            folder, previous = places
            if options.release.is_file():
                copy_signature(options.release, folder)
            findings = verify(folder, previous=previous, progress=progress)
            manifest = read_manifest(folder)
            signatures = check_signatures(folder, manifest, keys, findings)
    except (NotARelease, KeyFileError) as error:
        show(error, stream=sys.stderr)
        return NO_RELEASE
    for difference in findings.all_differences():
        show(difference)
    if not options.quiet:
        for line in (*report(manifest, findings), verdict(findings.number)):
            show(line)
    if options.json:
        values = report_json(manifest, findings, signatures)
        try:
            options.json.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", "utf-8")
        except OSError as error:
            show(f"{options.json} cannot be written: {error}", stream=sys.stderr)
            return NO_RELEASE
    return DIFFERENT if findings.differences else NOTHING_DIFFERS


def _show_progress(what: str, done: int, total: int) -> None:
    if done % 100 == 0 or done == total:
        line = f"{what}: {done:,} of {total:,}"
        show(line, stream=sys.stderr, end="\n" if done == total else "", over=True)


if __name__ == "__main__":
    sys.exit(main())
