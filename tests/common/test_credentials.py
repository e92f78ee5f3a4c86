"""What is over is cleared away, and nothing else."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase

from common.authentication import TOKEN_LIFETIME, issue_token
from common.credentials import credentials_purge
from common.models import ApiToken, UserSession
from common.sessions import SessionStore
from contest import pipeline
from labeling.models import Tasker

pytestmark = pytest.mark.django_db


def session_of(tasker: Tasker, expires: datetime) -> str:
    session: SessionBase = SessionStore()
    session[SESSION_KEY] = str(tasker.user.pk)
    session.save()
    UserSession.objects.filter(pk=session.session_key).update(expire_date=expires)
    return str(session.session_key)


def test_what_is_over_goes_and_what_counts_stays(tara: Tasker, now: datetime) -> None:
    moment = timedelta(microseconds=1)
    session_of(tara, now - moment)
    session_of(tara, now)
    kept = session_of(tara, now + moment)
    for issued in (now - TOKEN_LIFETIME - moment, now - TOKEN_LIFETIME, now - TOKEN_LIFETIME + moment):
        issue_token(tara.user, now=issued)
    assert pipeline.QUEUES["slow"]["credentials deleted"] is pipeline.purge_credentials, "it is one of the sweeps"
    assert credentials_purge(now=now) == 4
    assert [each.pk for each in UserSession.objects.all()] == [kept]
    assert [each.expires_at for each in ApiToken.objects.all()] == [now + moment]
    assert credentials_purge(now=now) == 0
