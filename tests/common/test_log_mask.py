"""The mask of the log: whatever form a secret takes in a line, it is not there afterwards; the rest of the line is."""

import json
import re
import time

import pytest

from common.log_mask import SECRET_LINKS, mask
from tests.addresses import patterns

SECRET = "Zk3-secret-of-a-link_9"
RESET = "ctg5x2-" + "a1b2c3d4" * 4
RANDOM = "q7Lk0" * 8 + "Zw9"  # 43 characters, as of secrets.token_urlsafe(32)
# What other parameters of addresses name; none of it opens anything.
ROUTES = [path.removeprefix("/") for path, _ in patterns()]
PUBLIC_PARAMETERS = {"public_id", "image_id", "name", "week", "path"}


def test_the_mask_knows_every_address_that_is_a_permission() -> None:
    """A parameter that is free text is public by name, or its address is one of the secret links."""
    free = re.compile(r"<(?:str|slug|path):(\w+)>")
    secret = {route for route in ROUTES if set(free.findall(route)) - PUBLIC_PARAMETERS}
    assert {re.sub(r"<\w+:", "<", route) for route in secret} == set(SECRET_LINKS)
    for route in secret:
        address = "/" + free.sub(SECRET, route)
        assert SECRET not in mask(f"Bad Request: {address}"), address


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"GET /join/{SECRET}/?from=letter", "an address with a query"),
        (f"https://unanimous.example/password/MQ/{SECRET}/", "a whole link, as in a letter"),
        (f"GET /sign-in/?next=%2Fjoin%2F{SECRET}%2F", "encoded, as where somebody goes after signing in"),
        (f"GET /sign-in/?next=%252Fteam%252Fjoin%252F{SECRET}", "encoded twice"),
        (f"GET /%6Aoin/{SECRET}/", "letters encoded that need not be"),
        (f"GET /join/%20{SECRET}", "a blank that a mail program put in"),
        (f"GET /JOIN//{SECRET}", "capitals and a doubled slash open nothing, and show the secret"),
        (f"{{'tried': [], 'path': 'register/{SECRET}'}}", "Django's words about what it did not find"),
        (json.dumps({"body": json.dumps({"link": f"/join/{SECRET}/"}).replace("/", "\\/")}), "JSON in JSON"),
        (f'{{"link": "https:\\/\\/c.example\\/password\\/MQ\\/{SECRET}\\/"}}', "a link with parts, as PHP writes JSON"),
        (f"Not Found: /passwort/MQ/{RESET}", "a mistyped address with a live token"),
        (f"Not Found: /invite/{RANDOM}", "a mistyped address with a live secret"),
        (f"error: {RANDOM} does not fit", "a bare secret in the words of an error"),
        (f"Authorization: Token {SECRET}", "a header"),
        (f"Authorization: Basic {SECRET}", "a header of another kind"),
        (json.dumps({"headers": {"Authorization": f"Token {SECRET}"}}), "a dict of headers"),
        (json.dumps({"headers": [["authorization", f"Token {SECRET}"]]}), "a list of pairs"),
        (f"{{'HTTP_AUTHORIZATION': 'Token {SECRET}'}}", "the request as WSGI has it"),
        (f"{{b'authorization': b'Token {SECRET}'}}", "headers as bytes"),
        (f"sent Bearer {SECRET} to the store", "a scheme without its header"),
        (f"Cookie: theme=dark; sessionid={SECRET}; csrftoken=x", "a header of cookies"),
        (json.dumps({"cookies": {"sessionid": SECRET}}), "a dict of cookies"),
        (f"csrfmiddlewaretoken={SECRET}&username=tara", "a form"),
        (json.dumps({"lease_token": SECRET, "answers": [{"token": SECRET}]}), "fields named token, at any depth"),
        (json.dumps({"password": f'a "quoted" {SECRET}'}), "a password with quotes"),
        (json.dumps({"body": json.dumps({"password": f"with blanks {SECRET}"})}), "a body as text"),
        (f"GET /metrics?token={SECRET}", "a query"),
        ('{"otp": 918273, "code": 400}', "a number"),
        (f"redis://user:{SECRET}@broker:6379/0 refused", "the address of a service"),
    ],
)
def test_no_secret_is_left_in_a_line(line: str, reason: str) -> None:
    masked = mask(line)
    assert not any(secret in masked for secret in (SECRET, RESET, RANDOM, "918273")), reason
    assert "…" in masked
    if line.startswith("{") and '"' in line:
        json.loads(masked)


@pytest.mark.parametrize(
    "line",
    [
        '{"request": "GET /account/password/", "code": 200, "event": "request_finished"}',
        '{"request": "GET /record/P-7Q4M2XYZ/", "request_id": "3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84"}',
        f'{{"event": "warning: picture {"ab12" * 16} is missing"}}',
        '{"token": null, "otp": false}',
        "GET /search/?q=100%25+sure",
        "error in test_a_line_with_a_name_that_is_very_long_and_has_no_digit",
    ],
)
def test_what_opens_nothing_stays_readable(line: str) -> None:
    assert mask(line) == line


@pytest.mark.parametrize("part", ["token=", '"token": "', "a", "join/", "A1-", "%41", "://a:", 'otp"=\\', "cookie:"])
def test_no_line_takes_long_to_mask(part: str) -> None:
    """A stranger writes the addresses of requests; gunicorn takes 4 KiB of them."""
    began = time.process_time()
    mask(f"404 % {part * (8192 // len(part))}")
    assert time.process_time() - began < 0.2
