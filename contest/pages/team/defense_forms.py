"""Forms about a team's defenses. `save` of a form about one defense returns the message that the page shows."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest

from common.domain_clock import domain_now
from common.errors import InvalidInput, WrongFields, required
from common.web.forms import Form, TextField
from contest.core import upload_rates
from contest.core.enums import UploadKind
from contest.core.models import Stake, Team
from contest.defenses import entries, selectors, staking
from contest.defenses.models import DefenseEntry
from contest.templatetags.scoring import binary_size
from contest.web.defense_uploads import FILES, path_of, read_submission, refused_files
from contest.web.upload_pieces import taken_files
from policy.selectors import policy_in_force
from scoring.trials.submitted_files import MAX_NAME_CHARACTERS

_MAX_REASON_CHARACTERS = 4_000


class ConfirmField(forms.BooleanField):
    """A box that has to be checked."""

    def __init__(self) -> None:
        super().__init__(
            error_messages={"required": "Nothing was changed. Check the box to confirm."},
            widget=forms.CheckboxInput({"value": "yes", "required": True}),
        )


class DefenseForm(Form):
    """A form about a defense of the team."""

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Do it."""
        raise NotImplementedError


class StakeDefenseForm(DefenseForm):
    """Requests to stake the team's defense (R32)."""

    sure = ConfirmField()

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Request the stake."""
        staking.stake_request(entry.defense, by=by, now=domain_now())
        return "The organizers were notified. The stake begins when your payment is received."


class CancelStakeForm(DefenseForm):
    """Cancels the requested stake."""

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Cancel the requested stake."""
        staking.stake_cancel(_stake_of(entry), by=by, now=domain_now())
        return "The stake is cancelled. There is nothing to pay."


class ReturnDefenseForm(DefenseForm):
    """Asks the board to return the stake, with a reason."""

    reason = TextField("Why should the board return it?", max_length=_MAX_REASON_CHARACTERS, rows=3)

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Ask the board."""
        staking.return_request(_stake_of(entry), self.cleaned_data["reason"], by=by, now=domain_now())
        return "The board was asked. Until it answers, the defense stays at stake."


class WithdrawDefenseForm(DefenseForm):
    """Withdraws the defense for good."""

    sure = ConfirmField()

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Withdraw the defense."""
        entries.entry_withdraw(entry, by=by, now=domain_now())
        return f"{entry.defense.name} is withdrawn. Its answers stay in the record."


class UploadField(forms.Field):
    """A file that is streamed to the disk as it arrives; a file that is too large is refused during the upload."""

    def __init__(self, label: str, name: str, help_text: str, *, accept: str = "", required: bool = False) -> None:
        most = FILES[name][1]
        attributes = {"data-limit": most, "accept": accept} | ({"required": True} if required else {})
        super().__init__(
            label=label,
            required=False,
            help_text=f"{help_text} At most {binary_size(most)}.",
            widget=forms.FileInput({attribute: value for attribute, value in attributes.items() if value}),
        )


class HandInForm(Form):
    """Submits a defense (R28, R31)."""

    name = TextField(
        "Name (required)",
        max_length=MAX_NAME_CHARACTERS,
        help_text="Public, and its own: a later version of it is another defense with another name.",
    )
    archive = UploadField("Archive", "archive", "What docker save writes, uncompressed (.tar).", accept=".tar")
    image = TextField(
        "Or its name and digest in a registry",
        max_length=200,
        required=False,
        help_text="It has to stay there: every run fetches exactly this digest.",
        spellcheck="false",
        placeholder="ghcr.io/team/defense@sha256:…",
    )
    source = UploadField("Source", "source", "A zip.", accept=".zip")
    training_code = UploadField("Training code", "training_code", "A zip.", accept=".zip")
    weights = UploadField("Weights", "weights", "One file; several as a zip.")
    licence = TextField("Licence (required)", max_length=entries.MAX_LICENCE_CHARACTERS, placeholder="Apache-2.0")
    description = TextField(
        "What it does, in a sentence or two", max_length=entries.MAX_DESCRIPTION_CHARACTERS, rows=3, required=False
    )

    def save(self, *, request: HttpRequest, team: Team, by: User) -> tuple[DefenseEntry, bool]:
        """Submit the defense; return its entry, and whether it is new."""
        # The last byte has arrived: this is the time of receipt (R23).
        now = domain_now()
        with upload_rates.count_refusals(team, UploadKind.DEFENSE), taken_files(request.POST, team, by) as kept:
            given = read_submission(request.POST.dict(), request.FILES, request, kept)
            return entries.submit_defense(team, given, by=by, policy=policy_in_force(now).policy, now=now)


class OpenSourceForm(DefenseForm):
    """Publishes the source of a closed defense (R33)."""

    source = UploadField("Source (required)", "source", "A zip.", accept=".zip", required=True)
    training_code = UploadField("Training code", "training_code", "A zip.", accept=".zip")

    def __init__(self, *arguments: Any, request: HttpRequest | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.request = request

    def save(self, *, entry: DefenseEntry, by: User) -> str:
        """Publish the source."""
        assert self.request is not None, "it was sent"
        files, now = self.request.FILES, domain_now()
        with upload_rates.count_refusals(entry.team, UploadKind.DEFENSE):
            if refused := refused_files(self.request):
                raise WrongFields(refused)
            source = required(
                path_of(files, "source"), InvalidInput("Choose the zip of its source.", "no_file", field="source")
            )
            entries.source_open(entry, source, by=by, now=now, training_code=path_of(files, "training_code"))
        return f"The source of {entry.defense.name} is received: it is open from now on."


def _stake_of(entry: DefenseEntry) -> Stake:
    return required(selectors.open_stake_of(entry.defense), InvalidInput("This defense is not at stake.", "not_staked"))
