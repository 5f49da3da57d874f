"""The client for programs without asyncio."""

from __future__ import annotations

import json
import time
from typing import Any, Iterator, Mapping, Optional, Union, cast

import httpx

from ._operations import Operations
from ._stream import SILENCE_SECONDS, Stream, is_final
from ._wire import (
    NOT_GIVEN,
    ProblemError,
    Token,
    base_of,
    headers_of,
    path_of,
    problem_of,
    rejected,
    reply_of,
    request_of,
    unreachable,
)
from .models import GetRunReplyRun, RunMessage


class Client(Operations):
    """A client of one gateway. Each operation is a method; nothing is retried but streams.

    Args:
        base_url: The gateway's base URL, such as `https://switchyard.example.com`.
        token: An API key, or a token of a configured issuer; a function is called for every request.
        headers: Headers that are added to every request.
        timeout_seconds: How long a reply may take.
        transport: Used in place of httpx's own, for example in tests.

    Example:
        with Client("http://127.0.0.1:8080", token=os.environ["YARD_HTTP_TOKEN"]) as client:
            run_id = client.start_run(agent="reviewer", input="What is in this repository?")["runId"]
            print(client.wait_for_run(run_id)["output"])
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: Token = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout_seconds: float = 60,
        transport: Optional[httpx.BaseTransport] = None,
    ) -> None:
        self._token = token
        self._http = httpx.Client(
            base_url=base_of(base_url),
            headers=headers,
            timeout=timeout_seconds,
            transport=transport,
        )

    def close(self) -> None:
        """Closes the connections; `with Client(...)` does so by itself."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def follow_run(
        self, run_id: str, *, after: Union[str, int, None] = None, stop_at_end: bool = False
    ) -> Iterator[RunMessage]:
        """Yields the events of a run from its beginning to its end, with live text between them.

        After a cut the stream is resumed, with pauses of 1 to 15 seconds, and no event is lost or
        repeated. A connection without a byte for 40 seconds counts as cut.

        Args:
            run_id: Id of the run.
            after: Number of the last event that the caller has.
            stop_at_end: Ends after the stored events, also when the run continues.

        Raises:
            ProblemError: `unknown_run`, or another reason why the gateway refuses the stream.

        Example:
            for message in client.follow_run("team-a~report-7"):
                if message["event"] == "delta":
                    print(message["data"]["delta"], end="")
        """
        path = path_of("/runs/{runId}/events", {"runId": run_id})
        query = {"follow": "false"} if stop_at_end else {}
        stream = Stream(after=after, is_run=True, stop_at_end=stop_at_end)
        # The gateway's contract for this stream, which the types are generated from.
        return cast("Iterator[RunMessage]", self._follow(path, query, stream))

    def follow_events(
        self,
        *,
        noun: str = NOT_GIVEN,
        id: str = NOT_GIVEN,
        event: str = NOT_GIVEN,
        after: Optional[str] = None,
    ) -> Iterator[dict[str, Any]]:
        """Yields the events about everything that belongs to the caller, from now on.

        After a cut the stream is resumed behind the last event. It never ends by itself.

        Args:
            noun: Only events of this noun, such as `approval`.
            id: Only events of the object of the noun with this id.
            event: Only events of the noun with this name, such as `rejected`.
            after: The `id` of the last message that the caller has.

        Raises:
            ProblemError: `forbidden`, or another reason why the gateway refuses the stream.

        Example:
            for message in client.follow_events(noun="approval"):
                print(message["event"], message["data"])
        """
        query = request_of("", query={"noun": noun, "id": id, "event": event})["params"]
        return self._follow("/events", query, Stream(after=after, is_run=False))

    def wait_for_run(self, run_id: str) -> GetRunReplyRun:
        """Returns the run when it has ended, with any `status`. Costs are in US dollars.

        A message that became part of another run of its session is answered by that run.

        Raises:
            ProblemError: `rejected` for a command that became no run.

        Example:
            run = client.wait_for_run("team-a~report-7")
        """
        for message in self.follow_run(run_id):
            if message["event"] == "rejected":
                raise rejected(cast("dict[str, Any]", message["data"]))
            if message["event"] == "merged":
                return self.wait_for_run(message["data"]["into"])
        return self.get_run(run_id)["run"]

    def export_audit(
        self, *, since: str = NOT_GIVEN, until: str = NOT_GIVEN
    ) -> Iterator[dict[str, Any]]:
        """Yields the records of the audit, oldest first.

        Args:
            since: Only records of this time or later, ISO 8601.
            until: Only records before this time, ISO 8601.

        Raises:
            ProblemError: `forbidden` without the role `admin`.

        Example:
            for record in client.export_audit(since="2026-11-01T00:00:00Z"):
                print(record)
        """
        request = request_of("/audit/export", query={"since": since, "until": until})
        headers = headers_of(self._token)
        with self._http.stream(
            "GET", request["url"], params=request["params"], headers=headers
        ) as response:
            if not response.is_success:
                response.read()
                raise problem_of(response)
            for line in response.iter_lines():
                if line:
                    yield json.loads(line)

    def _call(self, method: str, path: str, **parts: Any) -> Any:
        request = request_of(path, **parts)
        headers = {**headers_of(self._token), **request.pop("headers")}
        try:
            response = self._http.request(method, headers=headers, **request)
        except httpx.TransportError as error:
            raise unreachable(error) from error
        return reply_of(response)

    def _follow(self, path: str, query: dict[str, str], stream: Stream) -> Iterator[dict[str, Any]]:
        timeout = httpx.Timeout(10, read=SILENCE_SECONDS)
        while True:
            headers = {**headers_of(self._token), **stream.headers()}
            try:
                with self._http.stream(
                    "GET", path, params=query, headers=headers, timeout=timeout
                ) as response:
                    if not response.is_success:
                        response.read()
                        raise problem_of(response)
                    stream.opened()
                    for text in response.iter_text():
                        yield from stream.receive(text)
                if stream.is_done:
                    return
            except ProblemError as problem:
                if is_final(problem):
                    raise
            except httpx.TransportError:
                pass
            time.sleep(stream.pause_seconds())
