"""Claim and submit in plain SQL, one transaction each."""

import json
import secrets

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST

SCHEMA = """
CREATE TABLE floor_item (id bigserial PRIMARY KEY, free int NOT NULL, answered int NOT NULL DEFAULT 0);
CREATE INDEX floor_open ON floor_item (id) WHERE free > 0;
CREATE TABLE floor_lease (
  id bigserial PRIMARY KEY, item_id bigint NOT NULL REFERENCES floor_item, user_id int NOT NULL REFERENCES auth_user,
  token text NOT NULL, UNIQUE (item_id, user_id));
CREATE TABLE floor_answer (
  id bigserial PRIMARY KEY, item_id bigint NOT NULL REFERENCES floor_item, user_id int NOT NULL REFERENCES auth_user,
  body jsonb NOT NULL, received_at timestamptz NOT NULL DEFAULT now(), UNIQUE (item_id, user_id));
"""
_FIND = """
SELECT id FROM floor_item i WHERE free > 0
  AND NOT EXISTS (SELECT 1 FROM floor_answer a WHERE a.item_id = i.id AND a.user_id = %s)
  AND NOT EXISTS (SELECT 1 FROM floor_lease l WHERE l.item_id = i.id AND l.user_id = %s)
ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"""
_TAKE = "UPDATE floor_item SET free = free - 1 WHERE id = %s"
_LEASE = "INSERT INTO floor_lease (item_id, user_id, token) VALUES (%s, %s, %s) RETURNING id"
_END = "DELETE FROM floor_lease WHERE id = %s AND user_id = %s AND token = %s RETURNING item_id"
_KEEP = "INSERT INTO floor_answer (item_id, user_id, body) VALUES (%s, %s, %s) RETURNING id"
_COUNT = "UPDATE floor_item SET answered = answered + 1 WHERE id = %s"


@require_POST
def next_item(request: HttpRequest) -> HttpResponse:
    """Lease an open item that this user has not answered."""
    if not request.user.is_authenticated:
        return HttpResponse(status=401)
    user, token = request.user.pk, secrets.token_hex(16)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_FIND, [user, user])
        found = cursor.fetchone()
        if found is None:
            return HttpResponse(status=204)
        cursor.execute(_TAKE, found)
        cursor.execute(_LEASE, [found[0], user, token])
        lease = cursor.fetchone()[0]
    return JsonResponse({"id": lease, "lease_token": token, "item": found[0]})


@require_POST
def submit(request: HttpRequest, lease: int) -> HttpResponse:
    """Remove the lease, keep the answer, count it."""
    if not request.user.is_authenticated:
        return HttpResponse(status=401)
    user, answer = request.user.pk, json.loads(request.body)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_END, [lease, user, answer["lease_token"]])
        found = cursor.fetchone()
        if found is None:
            return HttpResponse(status=409)
        cursor.execute(_KEEP, [found[0], user, json.dumps(answer)])
        receipt = cursor.fetchone()[0]
        cursor.execute(_COUNT, found)
    return JsonResponse({"receipt": str(receipt)}, status=201)
