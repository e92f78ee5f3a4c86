"""The derived files that a release has to have, for tests that change its tables."""

from pathlib import Path

from adjudication.schema import release_format as form
from adjudication.verifier.answer_checks import DerivedFiles
from adjudication.verifier.findings import Findings
from adjudication.verifier.release import sizes_of
from adjudication.verifier.release_reader import read_manifest, read_table
from adjudication.verifier.rows import RowIndex
from adjudication.verifier.rulings import read_responses


def derived_files(folder: Path) -> dict[str, str]:
    """Return what `tasker_data.csv` and the annotations of a release have to be, by name; raises NotARelease."""
    manifest = read_manifest(folder)
    images, responses, rulings = (
        read_table(folder, name, Findings(), revision=manifest.revision)
        for name in (form.IMAGES, form.RESPONSES, form.RULINGS)
    )
    panels = read_responses(responses, sizes_of(images), Findings())
    newest = RowIndex(rulings, {row["image_id"]: number for number, row in enumerate(rulings)})
    files = DerivedFiles(images, newest, panels)
    return {form.TASKER_DATA: "".join(files.tasker_data()), form.COCO: "".join(files.coco(manifest))}
