"""Requests and replies of the gateway, apart from how they are sent."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Optional, Union
from urllib.parse import quote

import httpx

Token = Union[str, Callable[[], str], None]


class _NotGiven:
    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Any = _NotGiven()
"""The value of an argument that is left out, where None would be sent as null."""


class ProblemError(Exception):
    """The gateway refused a request, RFC 9457; or no gateway answered: then `status` is 0 and `code` is `unreachable`."""

    def __init__(
        self,
        *,
        status: int,
        code: str,
        detail: str,
        next: Optional[str] = None,
        request_id: str = "",
        data: Any = None,
    ) -> None:
        super().__init__(f"{code}: {detail}" + (f" (next: {next})" if next else ""))
        self.status = status
        """HTTP status."""
        self.code = code
        """The codes are listed in docs/reference/subjects.md, for example `unknown_run`."""
        self.detail = detail
        """The message: what failed, for which object, and why."""
        self.next = next
        """The next step; None when a proxy answered in the gateway's place."""
        self.request_id = request_id
        """The id of the request in logs; empty when no gateway answered."""
        self.data = data
        """Facts of the error, such as `problems`; their form depends on the code."""


def base_of(base_url: str) -> str:
    return base_url.rstrip("/") + "/api/v1"


def headers_of(token: Token) -> dict[str, str]:
    credential = token() if callable(token) else token
    return {} if credential is None else {"authorization": f"Bearer {credential}"}


def path_of(template: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda part: quote(str(values[part[1]]), safe="~"), template)


def request_of(
    path: str,
    *,
    values: Optional[dict[str, str]] = None,
    query: Optional[dict[str, Any]] = None,
    body: Any = NOT_GIVEN,
    content: Any = NOT_GIVEN,
    idempotency_key: Any = NOT_GIVEN,
    if_match: Any = NOT_GIVEN,
) -> dict[str, Any]:
    """The arguments of httpx for a request, without those that are not given."""
    headers: dict[str, str] = {}
    request: dict[str, Any] = {"url": path_of(path, values or {}), "headers": headers}
    # Lists and objects are encoded as JSON: an element may contain the comma that would separate it from the next one.
    request["params"] = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in (query or {}).items()
        if value is not NOT_GIVEN
    }
    if idempotency_key is not NOT_GIVEN:
        headers["idempotency-key"] = idempotency_key
    if if_match is not NOT_GIVEN:
        headers["if-match"] = f'"{if_match}"'
    if content is not NOT_GIVEN:
        headers["content-type"] = "application/octet-stream"
        request["content"] = content
    elif body is not NOT_GIVEN:
        request["json"] = {name: value for name, value in body.items() if value is not NOT_GIVEN}
    return request


def reply_of(response: httpx.Response) -> Any:
    """The reply of a request; raises the problem of one that was refused."""
    if response.is_success:
        return response.json()
    raise problem_of(response)


def problem_of(response: httpx.Response) -> ProblemError:
    """The problem of a response that has been read, also of one that a proxy sent in the gateway's place."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}

    def text(name: str) -> Optional[str]:
        value = body.get(name)
        return value if isinstance(value, str) else None

    status = response.status_code
    return ProblemError(
        status=status,
        code=text("code") or f"http_{status}",
        detail=text("detail") or f"the server answered {status} {response.reason_phrase}".strip(),
        next=text("next"),
        request_id=text("requestId") or response.headers.get("x-request-id", ""),
        data=body.get("data"),
    )


def unreachable(cause: Exception) -> ProblemError:
    problem = ProblemError(
        status=0,
        code="unreachable",
        detail="the gateway cannot be reached",
        next="look whether it runs, and send the same request again",
    )
    problem.__cause__ = cause
    return problem


def rejected(data: dict[str, Any]) -> ProblemError:
    """The error of waiting for a command that became no run."""
    detail = "; ".join([data["message"], *data["problems"]])
    return ProblemError(status=409, code="rejected", detail=detail, data={"code": data["code"]})
