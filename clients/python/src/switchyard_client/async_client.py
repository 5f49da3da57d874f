"""The client for asyncio."""

from __future__ import annotations

import asyncio
import json
from typing import Any, AsyncIterator, Mapping, Optional, Union, cast

import httpx

from ._async_operations import AsyncOperations
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


class AsyncClient(AsyncOperations):
    """A client of one gateway. Each operation is a method; nothing is retried but streams.

    Args:
        base_url: The gateway's base URL, such as `https://switchyard.example.com`.
        token: An API key, or a token of a configured issuer; a function is called for every request.
        headers: Headers that are added to every request.
        timeout_seconds: How long a reply may take.
        transport: Used in place of httpx's own, for example in tests.

    Example:
        async with AsyncClient("http://127.0.0.1:8080", token=os.environ["YARD_HTTP_TOKEN"]) as client:
            run_id = (await client.start_run(agent="reviewer", input="What?"))["runId"]
            print((await client.wait_for_run(run_id))["output"])
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: Token = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout_seconds: float = 60,
        transport: Optional[httpx.AsyncBaseTransport] = None,
    ) -> None:
        self._token = token
        self._http = httpx.AsyncClient(
            base_url=base_of(base_url),
            headers=headers,
            timeout=timeout_seconds,
            transport=transport,
        )

    async def aclose(self) -> None:
        """Closes the connections; `async with AsyncClient(...)` does so by itself."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def follow_run(
        self, run_id: str, *, after: Union[str, int, None] = None, stop_at_end: bool = False
    ) -> AsyncIterator[RunMessage]:
        """Yields the events of a run from its beginning to its end, with live text between them. The rest is as in `Client.follow_run`."""
        path = path_of("/runs/{runId}/events", {"runId": run_id})
        query = {"follow": "false"} if stop_at_end else {}
        stream = Stream(after=after, is_run=True, stop_at_end=stop_at_end)
        async for message in self._follow(path, query, stream):
            # The gateway's contract for this stream, which the types are generated from.
            yield cast("RunMessage", message)

    async def follow_events(
        self,
        *,
        noun: str = NOT_GIVEN,
        id: str = NOT_GIVEN,
        event: str = NOT_GIVEN,
        after: Optional[str] = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yields the events about everything that belongs to the caller, from now on. The rest is as in `Client.follow_events`."""
        query = request_of("", query={"noun": noun, "id": id, "event": event})["params"]
        async for message in self._follow("/events", query, Stream(after=after, is_run=False)):
            yield message

    async def wait_for_run(self, run_id: str) -> GetRunReplyRun:
        """Returns the run when it has ended, with any `status`. Costs are in US dollars. The rest is as in `Client.wait_for_run`."""
        async for message in self.follow_run(run_id):
            if message["event"] == "rejected":
                raise rejected(cast("dict[str, Any]", message["data"]))
            if message["event"] == "merged":
                return await self.wait_for_run(message["data"]["into"])
        return (await self.get_run(run_id))["run"]

    async def export_audit(
        self, *, since: str = NOT_GIVEN, until: str = NOT_GIVEN
    ) -> AsyncIterator[dict[str, Any]]:
        """Yields the records of the audit, oldest first. The rest is as in `Client.export_audit`."""
        request = request_of("/audit/export", query={"since": since, "until": until})
        headers = headers_of(self._token)
        async with self._http.stream(
            "GET", request["url"], params=request["params"], headers=headers
        ) as response:
            if not response.is_success:
                await response.aread()
                raise problem_of(response)
            async for line in response.aiter_lines():
                if line:
                    yield json.loads(line)

    async def _call(self, method: str, path: str, **parts: Any) -> Any:
        request = request_of(path, **parts)
        headers = {**headers_of(self._token), **request.pop("headers")}
        try:
            response = await self._http.request(method, headers=headers, **request)
        except httpx.TransportError as error:
            raise unreachable(error) from error
        return reply_of(response)

    async def _follow(self, path: str, query: dict[str, str], stream: Stream) -> AsyncIterator[dict[str, Any]]:
        timeout = httpx.Timeout(10, read=SILENCE_SECONDS)
        while True:
            headers = {**headers_of(self._token), **stream.headers()}
            try:
                async with self._http.stream(
                    "GET", path, params=query, headers=headers, timeout=timeout
                ) as response:
                    if not response.is_success:
                        await response.aread()
                        raise problem_of(response)
                    stream.opened()
                    async for text in response.aiter_text():
                        for message in stream.receive(text):
                            yield message
                if stream.is_done:
                    return
            except ProblemError as problem:
                if is_final(problem):
                    raise
            except httpx.TransportError:
                pass
            await asyncio.sleep(stream.pause_seconds())
