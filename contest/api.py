"""The account's calls of the API: a token for programs, and who am I (contracts, section 2)."""

from django.contrib.auth import authenticate
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.authentication import issue_token
from common.errors import InvalidInput
from contest.access import roles_of
from contest.models import Team
from contest.serializers import CredentialsIn, MeOut, TokenOut
from labeling.serializers import ErrorOut


class TokenCreate(APIView):
    """A token, for the name and the password."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

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
        """Make a token that is valid for 90 days. It is shown once; send it as `Authorization: Token …`.

        After ten wrong passwords the account is closed from your address for one hour (429).
        """
        body = CredentialsIn(data=request.data)
        body.is_valid(raise_exception=True)
        user = authenticate(request._request, **body.validated_data)
        if user is None:
            raise InvalidInput("This user name and password do not belong together.", "wrong_credentials")
        return Response({"token": issue_token(user, now=timezone.now())})


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
        """Tell the roles, the public tasker ID and the teams of the account."""
        user = request.user
        tasker = getattr(user, "tasker", None)
        teams = Team.objects.filter(members__user=user.pk).order_by("name")
        return Response(
            {
                "username": user.get_username(),
                "roles": list(roles_of(user).names),
                "tasker_id": tasker.public_id if tasker else None,
                "teams": [{"id": team.public_id, "name": team.name} for team in teams],
                "quota_left": None,
            }
        )
