"""Streams of server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html, apart from how they are received."""

from __future__ import annotations

import json
from typing import Any, Iterator, Optional, Union

from ._wire import ProblemError
from .models import RUN_ENDS

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 15.0
SILENCE_SECONDS = 40.0
"""A gateway pings every 15 seconds: after so long without a byte the connection counts as dead."""


class Stream:
    """The state of one followed stream: which event came last, and how long to wait before it is opened again."""

    def __init__(self, *, after: Union[str, int, None], is_run: bool, stop_at_end: bool = False) -> None:
        self._last_id = "" if after is None else str(after)
        self._is_run = is_run
        # A run that was retried has ends in its past: the gateway ends the stream behind the last one.
        self._has_ended = stop_at_end
        self._stop_at_end = stop_at_end
        self._failures = 0
        self._retry_seconds = FIRST_WAIT_SECONDS
        self._text = ""

    def headers(self) -> dict[str, str]:
        """The headers of the next request."""
        last_id = {"last-event-id": self._last_id} if self._last_id else {}
        return {"accept": "text/event-stream", "cache-control": "no-store", **last_id}

    def opened(self) -> None:
        """A gateway that answers is available: after a cut the client reconnects soon, even if no event came."""
        self._failures = 0
        self._text = ""

    def receive(self, text: str) -> Iterator[dict[str, Any]]:
        """Yields the messages that are complete with this text. An event that came before is left out."""
        self._text = (self._text + text).replace("\r\n", "\n")
        *blocks, self._text = self._text.split("\n\n")
        for block in blocks:
            message = self._message(block)
            if message is not None:
                yield message

    @property
    def is_done(self) -> bool:
        """True when the stream is not opened again after its end."""
        return self._has_ended

    def pause_seconds(self) -> float:
        """How long to wait before the stream is opened again."""
        wait = min(self._retry_seconds * 2**self._failures, LONGEST_WAIT_SECONDS)
        self._failures = min(self._failures + 1, 10)
        return wait

    def _message(self, block: str) -> Optional[dict[str, Any]]:
        event, event_id = "message", None
        data: list[str] = []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                event = value
            elif field == "id":
                event_id = value
            elif field == "data":
                data.append(value)
            elif field == "retry" and value.isdigit():
                self._retry_seconds = int(value) / 1000
        if not data:
            return None
        if event_id is not None:
            if self._is_run and self._last_id and int(event_id) <= int(self._last_id):
                return None
            self._last_id = event_id
        if self._is_run and event != "delta":
            self._has_ended = self._stop_at_end or event in RUN_ENDS
        position: Any = int(event_id) if self._is_run and event_id is not None else event_id
        return {"event": event, "id": position, "data": json.loads("\n".join(data))}


def is_final(problem: ProblemError) -> bool:
    """True when the gateway refuses the stream, so that opening it again is of no use."""
    return 400 <= problem.status < 500 and problem.status != 429
