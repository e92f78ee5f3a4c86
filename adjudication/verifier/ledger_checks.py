"""Checks the ledger of a release: accounts, balances, and what each rule may move (R27, R32, R34-R38).

Pure: standard library only. Balances are compared where the releases are here from the first one on.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from adjudication.enums import DecisionKind
from adjudication.rules import equal_shares
from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row
from adjudication.verifier.stake_checks import json_of

_HALVES = ("attackers", "defenders")
# From which to which account money goes by each rule. A correction goes the other way, and names the corrected entry.
_WAYS: Mapping[str, frozenset[tuple[str, str]]] = {
    "R27": frozenset({("team", "defenders")}),
    "R32": frozenset({("attackers", "stake"), ("outside", "stake")}),
    "R34": frozenset(
        {("outside", "pool"), ("pool", "attackers"), ("pool", "defenders"), ("team", "outside")}
        | {("pool", "outside"), ("attackers", "pool"), ("defenders", "pool"), ("outside", "team"), ("stake", "outside")}
    ),
    "R35": frozenset({("stake", "team"), ("stake", "attackers"), ("attackers", "stake"), ("team", "stake")}),
    "R36": frozenset(
        {("stake", "team"), ("stake", "attackers"), ("attackers", "stake"), ("team", "stake")}
        | {("defenders", "team"), ("team", "defenders")}
    ),
    "R37": frozenset({("team", "defenders")}),
    "R38": frozenset(
        (one, other)
        for one in ("team", "stake", "withheld")
        for other in ("withheld", "team", "stake", *_HALVES)
        if "withheld" in (one, other) or other in _HALVES
    ),
}
# Kind of cause of an entry -> the tables in which the row with its number may be.
_CAUSES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ledger_entry": ((form.LEDGER, "number"),),
    "stake": ((form.STAKES, "number"),),
    "award": ((form.AWARDS, "number"),),
    "team": ((form.TEAMS, "number"),),
    "attack": ((form.ATTACKS, "number"),),
    "break": ((form.BREAKS, "break_id"), (form.UNPROVED, "break_id")),
    "payment": (),
    "correction": (),
}
# Money goes between these accounts only by a wrong entry or a correction.
_CORRECTIONS = frozenset({("pool", "outside"), ("stake", "outside"), ("team", "stake"), ("team", "defenders")})


def check_ledger(release: CheckedRelease, findings: Findings) -> None:
    """Check every entry on its own, and the sums of all entries."""
    corrected: Counter[str] = Counter()
    for row in release.rows_before(form.LEDGER):
        corrected[row["corrects"]] += int(row["cents"])
    for row in release.rows(form.LEDGER):
        _check_way(row, findings)
        _check_accounts(row, release, findings)
        causes = _check_causes(row, release, findings)
        corrected[row["corrects"]] += int(row["cents"])
        _check_correction(row, release.find(form.LEDGER, "number", row["corrects"]), corrected, findings)
        _check_funding(row, causes, release, findings)
        _check_decision(row, release, findings)
        _check_time(row, causes, release, findings)
    _check_funded(release, findings)
    _check_shares(release, findings)
    if release.earlier.whole:
        _check_balances(release, findings)
    findings.figures.append(f"entries of the ledger: {len(release.rows(form.LEDGER)):,} checked")


def _kind(account: str) -> str:
    return account.partition(":")[0]


def _check_way(row: Row, findings: Findings) -> None:
    way = (_kind(row["source"]), _kind(row["target"]))
    if way not in _WAYS[row["rule"]]:
        findings.add(form.LEDGER, row, f"{row['source']} to {row['target']}", f"a way of {row['rule']}", column="rule")
    if way in _CORRECTIONS and not row["corrects"]:
        findings.add_cell(form.LEDGER, row, "corrects", "the entry that it takes back")


def _check_accounts(row: Row, release: CheckedRelease, findings: Findings) -> None:
    for column in ("source", "target"):
        kind, _, number = row[column].partition(":")
        if kind == "team" and number not in release.by(form.TEAMS, "team_id"):
            findings.add_cell(form.LEDGER, row, column, f"a team of {form.TEAMS}")
        if kind == "stake" and release.earlier.whole and release.find(form.STAKES, "number", number) is None:
            findings.add_cell(form.LEDGER, row, column, f"a stake of {form.STAKES}")
    if row["source"] == row["target"]:
        findings.add_cell(form.LEDGER, row, "target", "another account than its source")


def _check_causes(row: Row, release: CheckedRelease, findings: Findings) -> dict[str, list[int]]:
    """Return the rows that an entry follows from, and check that each of them exists."""
    found: dict[str, list[int]] = {}
    for what, numbers in json_of(row, "causes", form.LEDGER, findings).items():
        if what not in _CAUSES or not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
            findings.add(form.LEDGER, row, f"{what} {numbers}", "rows by their numbers", column="causes")
            continue
        found[what] = numbers
        for each in numbers if release.earlier.whole and _CAUSES[what] else ():
            known = any(release.find(file, column, str(each)) for file, column in _CAUSES[what])
            if not known and what == "break":
                # It may be in errata that are published later.
                findings.note(f"ledger: entry {row['number']} follows from break {each}, which is in no release here")
            elif not known:
                names = " or ".join(file for file, _ in _CAUSES[what])
                findings.add(form.LEDGER, row, f"{what} {each}", f"a row of {names}", column="causes")
    for place in (row["source"], row["target"]):
        kind, _, number = place.partition(":")
        if kind == "stake" and int(number) not in found.get("stake", ()) and not row["corrects"]:
            findings.add_cell(form.LEDGER, row, "causes", f"stake {number} among them")
    return found


def _check_correction(row: Row, corrects: Row | None, corrected: Mapping[str, int], findings: Findings) -> None:
    """Check that a correction takes back at most what an earlier entry moved."""
    if not row["corrects"]:
        return
    if int(row["corrects"]) >= int(row["number"]):
        findings.add_cell(form.LEDGER, row, "corrects", "an earlier entry")
    if corrects is None:
        return
    if _kind(corrects["target"]) != _kind(row["source"]) or corrects["source"] != row["target"]:
        follows = f"{corrects['target']} to {corrects['source']}, the way back"
        findings.add(form.LEDGER, row, f"{row['source']} to {row['target']}", follows, column="corrects")
    if corrected[row["corrects"]] > int(corrects["cents"]):
        findings.add_cell(form.LEDGER, row, "cents", f"no more than {corrects['cents']}")


def _check_funding(row: Row, causes: Mapping[str, Sequence[int]], release: CheckedRelease, findings: Findings) -> None:
    """Check that a stake receives its price when it begins, from the party that pays for it (R32)."""
    if row["rule"] != "R32":
        return
    stake = release.find(form.STAKES, "number", row["target"].removeprefix("stake:"))
    if stake is None:
        return
    batch = release.find(form.BATCHES, "batch_id", stake["batch_id"]) if stake["batch_id"] else None
    follows = {
        "source": "attackers" if stake["kind"] == "board" else "outside",
        "cents": stake["cents"],
        "made_at": stake["staked_at"],
        "decision": batch["decision"] if batch is not None else "",
    }
    findings.compare_cells(form.LEDGER, row, follows, rule="R32")


def _check_funded(release: CheckedRelease, findings: Findings) -> None:
    """Check that every stake that began in the week received its money once (R32)."""
    funded = Counter(row["target"] for row in release.known_rows(form.LEDGER) if row["rule"] == "R32")
    start, end = release.manifest.values["week_start"], release.manifest.values["week_end"]
    for row in release.rows(form.STAKES):
        times = funded[f"stake:{row['number']}"]
        if times > 1 or (not times and start <= row["staked_at"] < end):
            words = f"one entry of {form.LEDGER} with its money"
            findings.add(form.STAKES, row, f"{times} entries", words, column="cents", rule="R32")


# Rule -> the kinds of decisions by which money moves; by other rules it moves without a decision.
_DECIDED: Mapping[str, tuple[DecisionKind, ...]] = {
    "R27": (DecisionKind.AWARD,),
    "R32": (DecisionKind.STAKE,),
    "R36": (DecisionKind.AWARD, DecisionKind.RETURN, DecisionKind.END),
    "R37": (DecisionKind.AWARD,),
    "R38": (DecisionKind.WITHHOLD, DecisionKind.RETURN, DecisionKind.FORFEIT),
}


def _check_decision(row: Row, release: CheckedRelease, findings: Findings) -> None:
    kinds = _DECIDED.get(row["rule"], ())
    decision = release.find(form.DECISIONS, "number", row["decision"]) if row["decision"] else None
    if row["decision"] and not kinds:
        findings.add_cell(form.LEDGER, row, "decision", f"no decision: {row['rule']} needs none")
    elif decision is not None and decision["kind"] not in kinds:
        findings.add_cell(form.LEDGER, row, "decision", f"a decision of {' or '.join(kinds)}")
    elif not row["decision"] and "defenders" in (row["source"], row["target"]) and row["rule"] != "R34":
        findings.add_cell(form.LEDGER, row, "decision", "the decision to award")
    if decision is not None and is_before(row["made_at"], decision["decided_at"]):
        findings.add_cell(form.LEDGER, row, "made_at", f"not before {decision['decided_at']}")


_MOMENTS = {"stake": "staked_at", "award": "awarded_at", "attack": "received_at", "break": "found_at"}


def _check_time(row: Row, causes: Mapping[str, Sequence[int]], release: CheckedRelease, findings: Findings) -> None:
    """Check that an entry is not made before its causes; the pool is split in halves at the deposit (R34)."""
    for what, moment in _MOMENTS.items():
        for number in causes.get(what, ()):
            known = (release.find(file, column, str(number)) for file, column in _CAUSES[what])
            first = next((each[moment] for each in known if each is not None), "")
            if first and is_before(row["made_at"], first):
                findings.add_cell(form.LEDGER, row, "made_at", f"not before {first}, its cause")
    if row["source"] == "pool" and row["target"] in _HALVES:
        deposits = [release.by(form.LEDGER, "number").get(str(each)) for each in causes.get("ledger_entry", ())]
        right = [each for each in deposits if each is not None and each["target"] == "pool"]
        if not right:
            findings.add_cell(form.LEDGER, row, "causes", "the deposit that it is half of")
        elif right[0]["made_at"] != row["made_at"]:
            findings.add_cell(form.LEDGER, row, "made_at", right[0]["made_at"])


def _check_shares(release: CheckedRelease, findings: Findings) -> None:
    """Check that the first shares of a stake are equal, with remaining cents in the order of receipt (R35)."""
    before = {row["source"] for row in release.rows_before(form.LEDGER) if row["rule"] == "R35"}
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in release.rows(form.LEDGER):
        if row["rule"] == "R35" and _kind(row["source"]) == "stake" and row["source"] not in before:
            groups[row["source"], row["made_at"]].append(row)
    # An amount withheld from a stake before it was shared is a part of a team's share (R38).
    not_first = {row["source"] for row in release.known_rows(form.LEDGER) if row["rule"] == "R38"}
    for (stake, _), rows in sorted(groups.items(), key=lambda group: group[0][1]):
        if stake not in not_first and release.earlier.whole:
            _check_first_shares(stake, rows, release, findings)
        not_first.add(stake)


def _check_first_shares(account: str, rows: Sequence[Row], release: CheckedRelease, findings: Findings) -> None:
    stake = release.find(form.STAKES, "number", account.removeprefix("stake:"))
    if stake is None:
        return
    received: dict[str, tuple[str, int]] = {}
    for row in rows:
        sent = (release.find(form.ATTACKS, "number", str(each)) for each in _numbers(row, "attack"))
        times = [(each["received_at"], int(each["number"])) for each in sent if each is not None]
        if _kind(row["target"]) == "team" and times:
            received[row["target"]] = min(times)
    shares = equal_shares(int(stake["cents"]), sorted(received, key=lambda team: received[team]))
    for row in rows:
        if row["target"] in shares and int(row["cents"]) != shares[row["target"]]:
            findings.add_cell(
                form.LEDGER, row, "cents", f"{shares[row['target']]}, the share of each of {len(shares)}", rule="R35"
            )


def _numbers(row: Row, what: str) -> Sequence[int]:
    """Return the numbers of one kind among the causes of an entry."""
    numbers = json_of(row, "causes", form.LEDGER, Findings()).get(what, ())
    return numbers if isinstance(numbers, list) else ()


def _check_balances(release: CheckedRelease, findings: Findings) -> None:
    """Check that no account but `outside` ever is negative, and that the pool is split in two equal halves (R34)."""
    balances: Counter[str] = Counter()
    for row in release.rows_before(form.LEDGER):
        balances[row["source"]] -= int(row["cents"])
        balances[row["target"]] += int(row["cents"])
    half = 0
    for row in release.rows(form.LEDGER):
        cents = int(row["cents"])
        if row["source"] == "pool" and row["target"] == "attackers":
            half = balances["pool"] // 2
        if row["source"] == "pool" and row["target"] in _HALVES and cents != half:
            findings.add_cell(form.LEDGER, row, "cents", f"{half}, half of the pool")
        balances[row["source"]] -= cents
        balances[row["target"]] += cents
        if row["source"] != "outside" and balances[row["source"]] < 0:
            findings.add_cell(
                form.LEDGER, row, "cents", f"at most {balances[row['source']] + cents}, what {row['source']} has"
            )
