"""An answer to HEAD has the headers of the page and no body."""

from io import BytesIO

import pytest
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse

from common.head import NoBodyForHead

ANSWERS = [
    (lambda: HttpResponse(b"words", headers={"Content-Length": "5"}), b"words", "a page"),
    (lambda: StreamingHttpResponse([b"wo", b"rds"], headers={"Content-Length": "5"}), b"words", "a stream"),
    (lambda: FileResponse(BytesIO(b"words")), b"words", "a file"),
]


@pytest.mark.parametrize(("make", "body", "why"), ANSWERS, ids=[row[2] for row in ANSWERS])
@pytest.mark.parametrize("method", ["HEAD", "GET", "POST"])
def test_only_head_loses_its_body(make: object, body: bytes, why: str, method: str) -> None:
    request = HttpRequest()
    request.method = method
    answer = NoBodyForHead(lambda _: make())(request)  # type: ignore[operator]
    assert b"".join(answer) == (b"" if method == "HEAD" else body), why
    assert answer["Content-Length"] == "5"
