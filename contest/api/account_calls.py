"""API views of accounts: issue and revoke a token, describe the account of a token."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth import authenticate
from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from accounts.rate_limits import counted_address
from accounts.session_store import CodeNeeded
from accounts.tokens import TokenAuthentication, issue_token, revoke_token
from common import rates
from common.domain_clock import domain_now
from common.errors import InvalidInput, TooMany
from common.web.body_limits import SMALL_BYTES, limit_body
from contest.api.bodies import Body
from contest.attacks import quota
from contest.core.roles import roles_of
from contest.core.teams import teams_of
from labeling.pages.shapes import ErrorOut
from policy.selectors import policy_at


class CredentialsIn(Body):
    """Who wants a token."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1000, trim_whitespace=False)
    otp = serializers.CharField(
        required=False,
        max_length=40,
        help_text="The code of the second factor, or a recovery code: where the account has one.",
    )


class TokenOut(serializers.Serializer[Any]):
    """A token for programs; it is shown once."""

    token = serializers.CharField()


class TeamOut(serializers.Serializer[Any]):
    """A team of the caller."""

    id = serializers.CharField()
    name = serializers.CharField()


class MeOut(serializers.Serializer[Any]):
    """Who the caller is. `quota_left` is null for who sends no attacks."""

    username = serializers.CharField()
    roles = serializers.ListField(child=serializers.ChoiceField(choices=["tasker", "organizer", "board", "team"]))
    tasker_id = serializers.CharField(allow_null=True, help_text="The public ID, for example T-7Q4M2.")
    teams = TeamOut(many=True)
    quota_left = serializers.IntegerField(allow_null=True)


# Many people may share an IP address, and each needs one token.
MAX_TOKENS_PER_HOUR = 300


def _reading_tokens() -> tuple[type[BaseAuthentication], ...]:
    classes: Any = api_settings.DEFAULT_AUTHENTICATION_CLASSES
    return tuple(each for each in classes if issubclass(each, TokenAuthentication))


@limit_body(SMALL_BYTES)
class Token(APIView):
    """A token: given for the name and the password, taken back by itself."""

    # The class that reads tokens is named in the settings, the same for every call.
    authentication_classes = _reading_tokens()

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Ask nobody who comes for a token who they are."""
        return super().get_authenticators() if self._revokes() else []

    def get_permissions(self) -> Sequence[Any]:
        """Let everybody ask for a token, and nobody but its bearer revoke one."""
        return super().get_permissions() if self._revokes() else [AllowAny()]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Count who asks before anything of the body is read."""
        if request.method == "POST":
            _count_token_request(request._request, now=timezone.now())
        super().initial(request, *args, **kwargs)

    def _revokes(self) -> bool:
        # There is no request at first when the schema is made.
        request: Request | None = self.request
        return request is not None and request.method == "DELETE"

    @extend_schema(
        operation_id="token_create",
        tags=["account"],
        summary="Get a token",
        request=CredentialsIn,
        responses={
            200: TokenOut,
            (400, "application/json"): ErrorOut,
            (429, "application/json"): ErrorOut,
        },
        examples=[
            OpenApiExample("body", {"username": "tasker1", "password": "demo-only"}, request_only=True),
            OpenApiExample(
                "answer",
                {"token": "r2Vb0c3mT1pXo8yYw5n7Q4k9ZsLdHfGjUaEiNtMqRxA"},
                response_only=True,
                status_codes=["200"],
            ),
        ],
    )
    def post(self, request: Request) -> Response:
        """Make a token that is valid for 90 days or until the password changes; it is shown once.

        Send it as `Authorization: Token …`, and `DELETE` here when it is not needed any more.
        An account with a second factor sends its code as `otp` (400 `code_needed` without it).
        After ten wrong passwords or codes the account is closed from your address for one hour (429).
        An address may request 300 tokens in an hour, successful or not (429 `too_many_tokens`, with `Retry-After`).
        """
        body = CredentialsIn(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            user = authenticate(request._request, **body.validated_data)
        except CodeNeeded:
            words = "This account has a second factor: send the code of this moment, or a recovery code, as `otp`."
            raise InvalidInput(words, "code_needed", field="otp") from None
        if user is None:
            raise InvalidInput("This user name and password, or the code, do not belong together.", "wrong_credentials")
        return Response({"token": issue_token(user, now=timezone.now())})

    @extend_schema(
        operation_id="token_delete",
        tags=["account"],
        summary="Revoke a token",
        request=None,
        responses={
            204: OpenApiResponse(description="The token opens nothing any more."),
            (401, "application/json"): ErrorOut,
        },
    )
    def delete(self, request: Request) -> Response:
        """Revoke the token that this call is sent with; other tokens of the account go on."""
        revoke_token(request.auth.pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _count_token_request(request: HttpRequest, *, now: datetime) -> None:
    """Raise TooMany (`too_many_tokens`) when the address requested too many tokens in this hour."""
    address = hashlib.sha256((counted_address(request) or "").encode()).hexdigest()
    if rates.increment(f"tokens requested from {address}", now=now) > MAX_TOKENS_PER_HOUR:
        words = f"Your address requested {MAX_TOKENS_PER_HOUR} tokens in this hour, which is the limit. "
        words += "Keep the token that you have: it is valid for 90 days."
        raise TooMany(words, "too_many_tokens", retry_after=rates.seconds_left(now))


class Me(APIView):
    """Who the caller is."""

    @extend_schema(
        operation_id="me",
        tags=["account"],
        summary="Who am I",
        responses={200: MeOut, (401, "application/json"): ErrorOut},
        examples=[
            OpenApiExample(
                "tasker",
                {"username": "tasker1", "roles": ["tasker"], "tasker_id": "T-7Q4M2", "teams": [], "quota_left": None},
                response_only=True,
                status_codes=["200"],
            )
        ],
    )
    def get(self, request: Request) -> Response:
        """Tell the roles, the public tasker ID, the teams of the account, and how many attacks are left today."""
        user = request.user
        tasker = getattr(user, "tasker", None)
        teams = teams_of(user)
        now = domain_now()
        return Response(
            {
                "username": user.get_username(),
                "roles": list(roles_of(user).names),
                "tasker_id": tasker.public_id if tasker else None,
                "teams": [{"id": team.public_id, "name": team.name} for team in teams],
                "quota_left": quota.quota_left(teams[0], policy=policy_at(now), now=now) if teams else None,
            }
        )
