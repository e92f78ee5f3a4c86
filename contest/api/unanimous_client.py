"""A client for the contest's API in one file: Python 3.10 or newer, nothing to install.

    from unanimous_client import Client

The pictures of a released week that are valid birds:

    contest = Client("https://contest.example.org")
    birds = [each for each in contest.pictures("2026-W47", verdict="valid") if each["ruling"]["label"] == "bird"]

An attack; the receipt says when it arrived:

    token = Client.sign_in("https://contest.example.org", "ann", "secret")
    contest = Client("https://contest.example.org", token=token)
    receipt = contest.send_attack("bird.png", defenses=["D-4K7QX2M9"])
    print(receipt["id"], receipt["received_at"])

The release of a week, to verify at home:

    Client("https://contest.example.org").save_release("2026-W47", "release.zip")

Every refusal is a Refused with a stable `code`, the server's words and, where it says so, after how many seconds to try
again. All calls and their fields: `/api/docs/` on the server.
"""

import json
import mimetypes
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import Request, urlopen

Json = dict[str, Any]


class Refused(Exception):
    """What the server did not do, and why: HTTP `status`, stable `code`, its words, seconds to wait if it said so."""

    def __init__(self, status: int, code: str, detail: str, retry_after: float | None) -> None:
        super().__init__(f"{detail} ({status} {code})")
        self.status, self.code, self.detail, self.retry_after = status, code, detail, retry_after


class Client:
    """One server, as a stranger or, with a token, as an account."""

    def __init__(self, server: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        self.server = server.rstrip("/") + "/"
        self._token = token
        self._timeout = timeout

    @classmethod
    def sign_in(cls, server: str, username: str, password: str, *, code: str | None = None) -> str:
        """Return a token of an account, with the code of its second factor where it has one; the token is as good as
        the password, until it is revoked."""
        body = {"username": username, "password": password, **({"otp": code} if code else {})}
        return str(cls(server).call("POST", "token/", body)["token"])

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        """Make any call of `/api/v1/` with JSON; `path` may be an address that an answer gave as `next`."""
        return self._json(method, path, None if body is None else json.dumps(body).encode(), "application/json")

    def listed(self, path: str, **filters: str | int | None) -> Iterator[Json]:
        """Yield the results of a list, page after page."""
        given = urlencode({name: value for name, value in filters.items() if value is not None})
        address: str | None = f"{path}?{given}" if given else path
        while address:
            page = self.call("GET", address)
            yield from page["results"]
            address = page["next"]

    def pictures(self, week: str, *, origin: str | None = None, verdict: str | None = None) -> Iterator[Json]:
        """Yield the pictures of a released week with the rulings that hold."""
        return self.listed("images/", week=week, origin=origin, verdict=verdict)

    def rulings(self, picture: str) -> list[Json]:
        """Return the rulings on a picture, first to last; the last one holds."""
        return list(self.listed("rulings/", image=picture))

    def send_attack(self, picture: str | Path, *, defenses: Sequence[str] = ()) -> Json:
        """Send a picture for the team of the account, against these defenses or all; return the receipt."""
        file = Path(picture)
        data, kind = _multipart([("defenses", each) for each in defenses], "image", file.name, file.read_bytes())
        return self._json("POST", "attacks/", data, kind)

    def attacks(self) -> Iterator[Json]:
        """Yield what the team sent, newest first, with what became of each."""
        return self.listed("attacks/")

    def save_release(self, week: str, path: str | Path) -> None:
        """Save the newest release of a week as a zip."""
        part = Path(f"{path}.part")
        with self._open("GET", f"releases/{week}/", None, {}) as answer, part.open("wb") as file:
            shutil.copyfileobj(answer, file)
        length = answer.headers.get("Content-Length")
        if length is not None and part.stat().st_size != int(length):
            raise OSError(f"The connection ended after {part.stat().st_size} of {length} bytes. Save it again.")
        part.replace(path)

    def _json(self, method: str, path: str, data: bytes | None, kind: str) -> Json:
        headers = {"Accept": "application/json", **({"Content-Type": kind} if data is not None else {})}
        with self._open(method, path, data, headers) as answer:
            text = answer.read()
        found: Json = json.loads(text) if text else {}
        return found

    def _open(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> Any:
        address = urljoin(urljoin(self.server, "api/v1/"), path)
        if urlsplit(address)[:2] != urlsplit(self.server)[:2]:
            raise ValueError(f"{address} is not on {self.server}, and would be sent the token.")
        request = Request(address, data=data, method=method, headers=dict(headers))
        if self._token:  # which is for this server alone, wherever it may lead
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            return urlopen(request, timeout=self._timeout)
        except HTTPError as error:
            raise _refusal(error) from None


def _refusal(error: HTTPError) -> Refused:
    with error:
        try:
            said = json.loads(error.read())
        except ValueError:
            said = None
    told = said if isinstance(said, dict) else {}
    wait = error.headers.get("Retry-After", "")
    seconds = float(wait) if wait.isdecimal() else None
    return Refused(error.code, told.get("code", "http_error"), told.get("detail", error.reason), seconds)


def _multipart(fields: Sequence[tuple[str, str]], name: str, filename: str, content: bytes) -> tuple[bytes, str]:
    """Return a form with one file, and its content type."""
    boundary = uuid.uuid4().hex
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields
    ]
    safe = filename.replace("\\", "_").replace('"', "_")
    kind = mimetypes.guess_type(filename)[0] or "application/octet-stream"
    parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{safe}"\r\n')
    parts.append(f"Content-Type: {kind}\r\n\r\n")
    return "".join(
        parts
    ).encode() + content + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
