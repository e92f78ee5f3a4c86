"""Add an account with one role: tasker, organizer or board member."""

import getpass
import sys
from random import SystemRandom
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from accounts.addresses import clean_address, keep_confirmed
from accounts.roles import ORGANIZERS, REVIEW_BOARD, role_give
from common.audit.origin import RecordedCommand
from common.audit.trail import audit
from common.domain_clock import domain_now
from common.errors import InvalidInput
from labeling.enums import TaskerState
from labeling.taskers import tasker_register

GROUPS = {"organizer": ORGANIZERS, "board": REVIEW_BOARD}


class Command(RecordedCommand):
    """One account, one role (R8); the password is asked for twice, or read from standard input."""

    help = __doc__
    example = "./unanimous add_user ada --role tasker --qualified"

    def add_arguments(self, parser: CommandParser) -> None:
        """Name and role."""
        parser.add_argument("name", help="the name to sign in with")
        parser.add_argument(
            "--role", required=True, choices=["tasker", *GROUPS], help="what the account is for: one role (R8)"
        )
        parser.add_argument("--email", default="", help="where letters about the account go; it counts as confirmed")
        parser.add_argument("--qualified", action="store_true", help="a tasker who may label at once (R5 waived)")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the account."""
        name, role, email = options["name"], options["role"], self._address(options["email"])
        if User.objects.filter(username=name).exists():
            raise CommandError(f"There is an account {name!r} already: choose another name.")
        password = self._password(options["password_stdin"], User(username=name, email=email))
        with transaction.atomic():
            user = User.objects.create_user(name, email=email, password=password)
            keep_confirmed(user)
            if role == "tasker":
                state = TaskerState.QUALIFIED if options["qualified"] else TaskerState.LEARNING
                tasker = tasker_register(user=user, state=state, now=domain_now(), rng=SystemRandom())
                self.stdout.write(f"{name} labels as {tasker.public_id}")
            else:
                role_give(user=user, role=GROUPS[role])
                self.stdout.write(f"{name} is added to: {GROUPS[role]}")
            told = {"role": role, "qualified": options["qualified"]}
            audit("role.give", by=None, subject={"account": [user.pk]}, now=domain_now(), private=told)

    def _address(self, typed: str) -> str:
        try:
            address = clean_address(typed) if typed else ""
        except InvalidInput as error:
            raise CommandError(error.message) from None
        if address and User.objects.filter(email=address).exists():
            raise CommandError(f"There is an account with the address {address} already.")
        return address

    def _typed(self) -> str:
        """Ask until the same is typed twice: nobody sees a slip of the fingers."""
        while True:
            password = getpass.getpass("Password: ")
            if getpass.getpass("The same password again: ") == password:
                return password
            self.stderr.write("The two passwords differ. Type them again.")

    def _password(self, from_stdin: bool, user: User) -> str:
        password = sys.stdin.readline().rstrip("\n") if from_stdin else self._typed()
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        return password
