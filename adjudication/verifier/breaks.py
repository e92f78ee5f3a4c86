"""Recomputes the breaks of a release from its rulings and predictions, and compares them (R29, R30).

Pure: standard library only.
"""

from collections.abc import Collection, Mapping, Sequence
from sys import intern
from typing import TypeAlias

from adjudication.rules import is_confident_mistake
from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Row
from labeling.enums import Label, Origin

# defense, image -> round -> the prediction's row
Predictions: TypeAlias = dict[tuple[str, str], dict[int, Row]]
# (defense, image, round): there is no prediction and there will be none
Faults: TypeAlias = set[tuple[str, str, int]]

# The rule book under which every picture of a release could break a defense.
_ALL_BREAK = "1"
_NAMED: Mapping[str, Label] = {label.value: label for label in Label}


def _is_mistake(label: str, answer: str) -> bool:
    return is_confident_mistake(_NAMED[label], _NAMED.get(answer))


def read_predictions(rows: Sequence[Row], findings: Findings) -> Predictions:
    """Collect the predictions, and check that each round has at most one."""
    predictions: Predictions = {}
    for row in rows:
        rounds = predictions.setdefault((intern(row["defense_id"]), intern(row["image_id"])), {})
        if int(row["round"]) in rounds:
            findings.add(form.PREDICTIONS, row, f"round {row['round']} again", "one answer in each round")
        rounds[int(row["round"])] = row
    findings.figures.append(f"predictions: {len(rows):,} read")
    return predictions


def read_faults(rows: Sequence[Row], predictions: Predictions, findings: Findings) -> Faults:
    """Collect the faults, and check that there is no prediction in the place of one (R30)."""
    faults: Faults = set()
    for row in rows:
        defense_id, image_id, number = intern(row["defense_id"]), intern(row["image_id"]), int(row["round"])
        if number in predictions.get((defense_id, image_id), {}):
            findings.add(form.FAULTS, row, f"fault {row['fault']}", "the answer in predictions.csv alone")
        faults.add((defense_id, image_id, number))
    findings.figures.append(f"faults: {len(rows):,} read")
    return faults


def pictures_with_gaps(release: CheckedRelease, predictions: Predictions, faults: Faults) -> list[str]:
    """Return the first gap of each valid picture that lacks both prediction and fault of some defense in force in some
    round (R29). The number of rounds is the least that a policy of the release requires."""
    in_force = [row["defense_id"] for row in release.rows(form.DEFENSES) if not row["retired_at"]]
    rounds = min((each.policy.evaluation_runs for each in release.policies.named.values()), default=0)
    expected = [(defense_id, number) for defense_id in in_force for number in range(1, rounds + 1)]
    holds = {row["image_id"]: row["label"] for row in (release.rows(form.RULINGS) if expected else ())}
    valid = (image_id for image_id, label in holds.items() if label)
    return [gap for image_id in valid if (gap := _first_gap(image_id, expected, predictions, faults))]


def check_complete(release: CheckedRelease, predictions: Predictions, faults: Faults, findings: Findings) -> None:
    """Check that every valid image has a prediction or a fault of every defense in force in every round.

    Images that the release says were waiting are excepted. Reports only the first gap of each image.
    """
    gaps = pictures_with_gaps(release, predictions, faults)
    if len(gaps) > release.manifest.waiting("runs"):
        for row in gaps:
            findings.add(form.PREDICTIONS, f"row {row}", "no prediction", "an answer in every round")


def _first_gap(
    image_id: str, expected: Sequence[tuple[str, int]], predictions: Predictions, faults: Faults
) -> str | None:
    for defense_id, number in expected:
        answered = number in predictions.get((defense_id, image_id), {})
        if not answered and (defense_id, image_id, number) not in faults:
            return f"{defense_id} on {image_id} round {number}"
    return None


def pictures_outside(tables: Mapping[str, Sequence[Row]], manifest: Manifest) -> frozenset[str]:
    """Return the pictures that cannot break a defense under the rule book of the release (R29).

    From the second rule book on these are the pictures that no attack sent before they were known otherwise (R26).
    Withdrawn
    attacks are in no release, and an attack that came first is of the week of its picture.
    """
    if manifest.rule_book == _ALL_BREAK or form.PROVENANCE not in tables:
        return frozenset()
    origins = {intern(row["image_id"]): intern(row["origin"]) for row in tables[form.IMAGES]}
    attacked = {row["image_id"] for row in tables[form.ATTACKS]}
    known_from = {
        row["image_id"]: row["label_from"]
        for row in (tables[form.PROVENANCE] if attacked else ())
        if row["image_id"] in attacked
    }
    sent = {
        row["image_id"]
        for row in tables[form.ATTACKS]
        if origins.get(row["image_id"]) == Origin.ATTACK or row["received_at"] < known_from.get(row["image_id"], "")
    }
    return frozenset(origins.keys() - sent)


def check_breaks(
    rows: Sequence[Row],
    rulings: Sequence[Row],
    newest: Mapping[str, Row],
    predictions: Predictions,
    outside: Collection[str],
    findings: Findings,
) -> None:
    """Check that the breaks are exactly those that follow from the rulings in force, each proved by a prediction.

    A picture of `outside` breaks no defense.
    """
    broken = {row["image_id"] for row in rows}
    labels = {
        (row["image_id"], row["number"]): row["label"]
        for row in (rulings if broken else ())
        if row["image_id"] in broken
    }
    recorded: set[tuple[str, str]] = set()
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        pair = (row["defense_id"], row["image_id"])
        once = (*pair, row["ruling_number"])
        if once in seen:
            findings.add(form.BREAKS, row, f"{pair[0]} on {pair[1]} again", "one break each")
        seen.add(once)
        if pair[1] in outside:
            findings.add(form.BREAKS, row, f"picture {pair[1]}", "a picture that an attack sent")
        _check_break(row, labels.get((row["image_id"], row["ruling_number"]), ""), predictions, findings)
        if row["image_id"] in newest and newest[row["image_id"]]["number"] == row["ruling_number"]:
            recorded.add(pair)
    for (defense_id, image_id), (number, _) in _mistakes(newest, predictions).items():
        if image_id not in outside and (defense_id, image_id) not in recorded:
            findings.add(
                form.BREAKS, f"row {defense_id} on {image_id}", "no break", f"a break by the answer in round {number}"
            )
    findings.figures.append(f"breaks: {len(rows):,} read and derived again")


def check_mistakes(
    rows: Sequence[Row],
    newest: Mapping[str, Row],
    predictions: Predictions,
    outside: Collection[str],
    images: Mapping[str, Row],
    findings: Findings,
) -> None:
    """Check that the mistakes outside the contest are exactly those that follow, each in its first round (R29)."""
    follows = {
        pair: (str(number), label)
        for pair, (number, label) in _mistakes(newest, predictions).items()
        if pair[1] in outside and pair[1] in images and images[pair[1]]["origin"] == Origin.DATASET
    }
    recorded = {(row["defense_id"], row["image_id"]): (row["round"], row["label"]) for row in rows}
    for pair in sorted(follows.keys() | recorded.keys()):
        if recorded.get(pair) != follows.get(pair):
            one, other = (_mistake_words(found.get(pair)) for found in (recorded, follows))
            findings.add(form.MISTAKES, f"row {pair[0]} on {pair[1]}", one, other)
    findings.figures.append(f"mistakes outside the contest: {len(rows):,} read and derived again")


def _mistake_words(mistake: tuple[str, str] | None) -> str:
    return f"a mistake in round {mistake[0]} on a {mistake[1]}" if mistake else "no mistake"


def _check_break(row: Row, label: str, predictions: Predictions, findings: Findings) -> None:
    """Check that the prediction a break names exists, and is a confident mistake under the ruling it names."""
    proof = predictions.get((row["defense_id"], row["image_id"]), {}).get(int(row["round"]))
    if not label:
        findings.add(form.BREAKS, row, f"ruling {row['ruling_number']}", "a ruling of valid")
    elif proof is None:
        findings.add(form.BREAKS, row, f"round {row['round']}", "no such prediction")
    elif proof["answer"] != row["answer"]:
        findings.add(form.BREAKS, row, f"answer {row['answer']}", f"answer {proof['answer']}")
    elif not _is_mistake(label, row["answer"]):
        findings.add(form.BREAKS, row, f"answer {row['answer']} on a {label}", "no break")


def _mistakes(newest: Mapping[str, Row], predictions: Predictions) -> dict[tuple[str, str], tuple[int, str]]:
    """Return defense, image -> the first round of a confident mistake under the ruling in force, and its label."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for (defense_id, image_id), rounds in predictions.items():
        label = newest[image_id]["label"] if image_id in newest else ""
        wrong = [number for number, row in rounds.items() if label and _is_mistake(label, row["answer"])]
        if wrong:
            found[defense_id, image_id] = (min(wrong), label)
    return found


def check_unproved(rows: Sequence[Row], predictions: Predictions, outside: Collection[str], findings: Findings) -> None:
    """Check that no prediction of this release proves an unproved break: such a break belongs in `breaks.csv`."""
    for row in rows:
        if row["image_id"] in outside:
            findings.add_cell(form.UNPROVED, row, "image_id", "a picture that an attack sent")
        answers = predictions.get((row["defense_id"], row["image_id"]), {})
        proofs = [number for number, answer in answers.items() if answer["answer"] == row["answer"]]
        if proofs:
            findings.add(form.UNPROVED, row, "no proof", f"round {min(proofs)} proves it")
