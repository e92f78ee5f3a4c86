"""`add_user`: adds an account with one role: tasker, organizer or board member."""

import getpass
import sys
from random import SystemRandom
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from accounts.addresses import clean_address
from accounts.invitations import account_make, username_problem
from accounts.roles import ORGANIZERS, REVIEW_BOARD, role_give
from common.audit.origin import RecordedCommand
from common.audit.trail import audit
from common.domain_clock import domain_now
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
        name, role = options["name"], options["role"]
        if problem := username_problem(name):
            raise CommandError(problem)
        email = clean_address(options["email"]) if options["email"] else ""
        password = sys.stdin.readline().rstrip("\n") if options["password_stdin"] else self._typed()
        with transaction.atomic():
            user = account_make(username=name, password=password, email=email)
            self.stdout.write(self._give_role(user, role, qualified=options["qualified"]))

    def _give_role(self, user: User, role: str, *, qualified: bool) -> str:
        """Give the role, and return in words what the account is now."""
        told = {"role": role, "qualified": qualified}
        audit("role.give", by=None, subject={"account": [user.pk]}, now=domain_now(), private=told)
        if role == "tasker":
            state = TaskerState.QUALIFIED if qualified else TaskerState.LEARNING
            tasker = tasker_register(user=user, state=state, now=domain_now(), rng=SystemRandom())
            return f"{user.username} labels as {tasker.public_id}"
        role_give(user=user, role=GROUPS[role])
        return f"{user.username} is added to: {GROUPS[role]}"

    def _typed(self) -> str:
        """Ask until the same is typed twice: nobody sees a slip of the fingers."""
        while True:
            password = getpass.getpass("Password: ")
            if getpass.getpass("The same password again: ") == password:
                return password
            self.stderr.write("The two passwords differ. Type them again.")
