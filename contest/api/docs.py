"""The API's documentation page, generated from its OpenAPI schema, and the download of the Python client."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator

from common.database.grouping import grouped
from common.web.page import page

Schema = Mapping[str, Any]
_PAIR = re.compile(r"\[\s+(-?[\d.]+),\s+(-?[\d.]+)\s+\]")
_CLIENT = Path(__file__).with_name("unanimous_client.py")
_ONE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
_METHODS = ("get", "post", "put", "patch", "delete")
_BY_FORMAT = {
    "uuid": "3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84",
    "date-time": "2026-11-20T23:59:00Z",
    "uri": "https://contest.example.org/",
    "double": 4.2,
}
_BY_TYPE = {"string": "text", "integer": 1, "number": 4.2, "boolean": True, "object": {}}


@lru_cache(maxsize=1)
def call_groups() -> dict[str, list[dict[str, Any]]]:
    """Return the page's data of all calls, by first word, in the order of the schema; made once per process."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    schema = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return grouped(
        (methods[method]["tags"][0], _call(schema, path, method, methods[method]))
        for path, methods in schema["paths"].items()
        for method in _METHODS
        if method in methods
    )


def _call(schema: Schema, path: str, method: str, operation: Schema) -> dict[str, Any]:
    """Return the page's data of one call; `body` is empty for a call without a body."""
    taken = operation.get("requestBody", {})
    content = _json_content(taken)
    form: Schema = taken.get("content", {}).get("multipart/form-data", {})
    answers = [_answer(schema, status, answer) for status, answer in sorted(operation["responses"].items())]
    return {
        "key": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        # The lines of a docstring are one paragraph, up to an empty one.
        "description": _ONE_BREAK.sub(" ", operation.get("description", "")),
        "query": [_parameter(each) for each in operation.get("parameters", ()) if each["in"] == "query"],
        # An empty requirement among the alternatives means that nobody has to be signed in.
        "signed_in": bool(operation.get("security")) and {} not in operation["security"],
        # A form with files has the same fields, and no example that could be written as JSON.
        "body": list(_fields(schema, (content or form).get("schema", {}))),
        "body_example": _example(schema, content),
        "answers": list(_without_repeats([answer for answer in answers if answer["status"] < "4"])),
        "errors": [answer for answer in answers if answer["status"] >= "4"],
    }


def _parameter(parameter: Schema) -> dict[str, Any]:
    """Return a parameter of the address as a field of the page."""
    shape: Schema = parameter["schema"]
    kind = " | ".join(shape["enum"]) if "enum" in shape else {"integer": "whole number"}.get(shape["type"], "text")
    note = parameter.get("description", "")
    return {"name": parameter["name"], "kind": kind, "required": parameter.get("required", False), "note": note}


def _without_repeats(answers: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Add `same_as`: the status of an earlier answer with the very same fields, empty where there is none."""
    for position, answer in enumerate(answers):
        earlier = (
            each["status"] for each in answers[:position] if answer["fields"] and each["fields"] == answer["fields"]
        )
        yield answer | {"same_as": next(earlier, "")}


def _json_content(holder: Schema) -> Schema:
    content: Schema = holder.get("content", {}).get("application/json", {})
    return content


def _answer(schema: Schema, status: str, answer: Schema) -> dict[str, Any]:
    """Return one answer of a call: the status, what it means, its fields, and an example as JSON text."""
    content = _json_content(answer)
    return {
        "status": status,
        "meaning": answer.get("description") or HTTPStatus(int(status)).phrase,
        "fields": list(_fields(schema, content.get("schema", {}))),
        "example": _example(schema, content),
    }


def _resolved(schema: Schema, part: Schema) -> Schema:
    """Follow references, and take the first of the alternatives that is not null."""
    while True:
        if "$ref" in part:
            part = schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]]
        elif chosen := next((part[word][0] for word in ("allOf", "oneOf", "anyOf") if part.get(word)), None):
            part = chosen
        else:
            return part


def _fields(schema: Schema, part: Schema, prefix: str = "") -> Iterator[dict[str, Any]]:
    """Yield the fields of a body or an answer. The name of a nested field is dotted, `[]` marks the items of a list."""
    whole = _resolved(schema, part)
    for name, value in whole.get("properties", {}).items():
        inner = _resolved(schema, value)
        yield {
            "name": prefix + name,
            "kind": _kind(schema, value),
            "required": name in whole.get("required", []),
            "note": "" if "enum" in inner else value.get("description") or "",
        }
        if inner.get("type") == "array":
            yield from _fields(schema, inner.get("items", {}), f"{prefix}{name}[].")
        else:
            yield from _fields(schema, inner, f"{prefix}{name}.")


def _kind(schema: Schema, value: Schema) -> str:
    """Return the type in words: `text`, `yes or no`, the words of a closed list, `list of ...`."""
    inner = _resolved(schema, value)
    if "enum" in inner:
        return " | ".join(str(each) for each in inner["enum"])
    if inner.get("type") == "array":
        return f"list of {_kind(schema, inner.get('items', {}))}".replace("list of object", "list")
    words = {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false"}
    name = words.get(str(inner.get("type")), str(inner.get("type", "anything")))
    formats = {"uuid": "id (UUID)", "date-time": "time (UTC, ISO 8601)", "binary": "file"}
    name = formats.get(str(inner.get("format")), name)
    return f"{name} or null" if value.get("nullable") or inner.get("nullable") else name


def _example(schema: Schema, content: Schema) -> str:
    """Return the example the call's author gave, or one made from the fields; empty where there is no content."""
    if not content:
        return ""
    given = next(iter(content.get("examples", {}).values()), None)
    value = given["value"] if given else _made_up(schema, content["schema"])
    # A corner is one thing to a reader: its two numbers stay on one line.
    return _PAIR.sub(r"[\1, \2]", json.dumps(value, indent=2, ensure_ascii=False))


def _made_up(schema: Schema, part: Schema) -> Any:
    if "example" in part:
        return part["example"]
    inner = _resolved(schema, part)
    if "enum" in inner:
        return inner["enum"][0]
    if inner.get("type") == "object" and "properties" in inner:
        return {name: _made_up(schema, value) for name, value in inner["properties"].items()}
    if inner.get("type") == "array":
        return [_made_up(schema, inner["items"])] * max(inner.get("minItems", 1), 1)
    return _BY_FORMAT.get(str(inner.get("format")), _BY_TYPE.get(str(inner.get("type"))))


@page(cache=None)
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show every call of the API, made from its schema."""
    return render(request, "contest/api_docs.html", {"groups": call_groups(), "origin": settings.PUBLIC_URL})


@page()
def client(request: HttpRequest) -> HttpResponse:
    """Answer the client in one file, for saving."""
    answer = HttpResponse(_CLIENT.read_text(), content_type="text/x-python; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{_CLIENT.name}"'
    return answer
