"""Adds to the API's OpenAPI schema the refusals that all calls share."""

from typing import Any

_METHODS = ("get", "post", "put", "patch", "delete")
_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}


def with_common_refusals(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the refusals that any call may meet before its own: no sign-in, another role, an unreadable body."""
    for methods in result["paths"].values():
        for operation in (methods[method] for method in _METHODS if method in methods):
            # An empty requirement among the alternatives means that nobody has to be signed in.
            signed_in = {} not in operation.get("security", [{}])
            refusals = {"401": "Not signed in", "403": "Not for this account"} if signed_in else {}
            if "requestBody" in operation:
                refusals |= {
                    "400": "Something sent is wrong",
                    "413": "The body is too long",
                    "415": "The body is not JSON",
                }
            for status, words in refusals.items():
                answer = operation["responses"].setdefault(status, {"content": _ERROR})
                answer["description"] = answer.get("description") or words
            operation["responses"] = dict(sorted(operation["responses"].items()))
    return result
